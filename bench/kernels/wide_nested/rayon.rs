// SPDX-License-Identifier: Apache-2.0
//! Loops in loops and trees with rayon. wide_nested.hpp has the structures.

use harness::{Arguments, Outcome};
use rayon::prelude::*;
use wide::{time_calls, Bodies, Bounds, Random, Ratios};

#[path = "../harness.rs"]
mod harness;
#[path = "../wide.rs"]
mod wide;

#[derive(Default)]
struct Structure {
    us: Vec<u64>,
    chain: f64,
    starts: Vec<usize>,
    children: Vec<usize>,
}

fn divisor(count: usize) -> usize {
    let root = (count as f64).sqrt() as usize;
    (1..=root).rev().find(|found| count % found == 0).unwrap_or(1)
}

fn grow(children: &mut Vec<usize>, node: usize, leaves: usize, random: &mut Random) {
    if leaves == 1 {
        return;
    }
    let left = 1 + random.below(leaves as u64 - 1) as usize;
    let first = children.len();
    children[node] = first;
    children.resize(first + 2, 0);
    grow(children, first, left, random);
    grow(children, first + 1, leaves - left, random);
}

fn leaves(threads: usize, us: u64) -> Structure {
    let mut children = vec![0];
    grow(&mut children, 0, 4 * threads, &mut Random(2));
    let mut random = Random(1);
    let lengths = children.iter().map(|&first| {
        if first != 0 {
            return 0;
        }
        let uniform = ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-uniform.ln() * us as f64) as u64
    });
    Structure { us: lengths.collect(), children, ..Structure::default() }
}

fn structure(how: &str, threads: usize, us: u64) -> Structure {
    let mut s = match how {
        "loops" | "tasks" => {
            let count = 4 * threads;
            let step = count / divisor(count);
            let starts = (0..=count).step_by(step).collect();
            Structure { us: vec![us; count], starts, ..Structure::default() }
        }
        "uneven" => {
            let mut starts = vec![0];
            (0..threads).for_each(|i| starts.push(starts[i] + 1 + i % 7));
            Structure { us: vec![us; starts[threads]], starts, ..Structure::default() }
        }
        "groups" | "invokes" => leaves(threads, us),
        _ => {
            harness::check(how == "parents" || how == "children", "there is no such how=");
            let count = 8 * threads - 1;
            let first = |i| if 2 * i + 2 < count { 2 * i + 1 } else { 0 };
            let levels = f64::from(usize::BITS - count.leading_zeros());
            Structure {
                us: vec![us; count],
                chain: levels * us as f64 * 1e-6,
                children: (0..count).map(first).collect(),
                ..Structure::default()
            }
        }
    };
    s.chain = s.chain.max(Bounds::of(&s.us).chain);
    s
}

fn run_loop(s: &Structure, bodies: &Bodies, number: usize) {
    (s.starts[number]..s.starts[number + 1]).into_par_iter().for_each(|i| bodies.call(i));
}

fn tree(s: &Structure, bodies: &Bodies, how: &str, node: usize) {
    if how == "parents" {
        bodies.call(node);
    }
    let first = s.children[node];
    if first != 0 && how == "invokes" {
        rayon::join(|| tree(s, bodies, how, first), || tree(s, bodies, how, first + 1));
    } else if first != 0 {
        rayon::scope(|scope| {
            scope.spawn(|_| tree(s, bodies, how, first));
            scope.spawn(|_| tree(s, bodies, how, first + 1));
        });
    }
    if how != "parents" {
        bodies.call(node);
    }
}

fn call(how: &str, s: &Structure, bodies: &Bodies) {
    match how {
        "loops" | "uneven" => {
            let loops = 0..s.starts.len() - 1;
            loops.into_par_iter().for_each(|number| run_loop(s, bodies, number));
        }
        "tasks" => rayon::scope(|scope| {
            for number in 0..s.starts.len() - 1 {
                scope.spawn(move |_| run_loop(s, bodies, number));
            }
        }),
        _ => tree(s, bodies, how, 0),
    }
}

fn nested(arguments: &mut Arguments, outcome: &mut Outcome) {
    let us = arguments.number("us", 5000);
    let calls = arguments.number("calls", 1);
    let how = arguments.text("how", "loops");
    let s = structure(&how, arguments.threads, us);
    let pool = harness::pool(arguments.threads);
    let seconds = time_calls(&s.us, calls, |bodies| pool.install(|| call(&how, &s, bodies)));
    let bounds = Bounds { chain: s.chain, ..Bounds::of(&s.us) };
    let mut ratios = Ratios::new(arguments.threads);
    ratios.add("", bounds, seconds);
    ratios.report(outcome);
}

fn main() {
    harness::run(nested);
}
