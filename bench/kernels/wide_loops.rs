// SPDX-License-Identifier: Apache-2.0
//! The loops and algorithms of wide_loops.hpp with rayon. It needs the modules harness and wide
//! next to it.
#![allow(dead_code)] // each program uses only a part

use crate::harness::{self, Arguments, Outcome};
use crate::wide::{time_calls, Bodies, Bounds, Random, Ratios};
use rayon::prelude::*;

fn invoke(bodies: &Bodies, begin: usize, end: usize) {
    if end - begin == 1 {
        return bodies.call(begin);
    }
    let middle = begin + (end - begin) / 2;
    rayon::join(|| invoke(bodies, begin, middle), || invoke(bodies, middle, end));
}

fn feed<'a>(scope: &rayon::Scope<'a>, bodies: &'a Bodies, i: usize) {
    for next in [2 * i + 1, 2 * i + 2] {
        if next < bodies.count() {
            scope.spawn(move |scope| feed(scope, bodies, next));
        }
    }
    bodies.call(i);
}

fn halves((begin, end): (usize, usize)) -> ((usize, usize), Option<(usize, usize)>) {
    let middle = begin + (end - begin) / 2;
    if middle == begin {
        ((begin, end), None)
    } else {
        ((begin, middle), Some((middle, end)))
    }
}

pub fn run_loop(how: &str, bodies: &Bodies) {
    let count = bodies.count();
    let numbers: Vec<usize> = (0..count).collect();
    match how {
        "auto" => (0..count).into_par_iter().for_each(|i| bodies.call(i)),
        "simple" => (0..count).into_par_iter().with_max_len(1).for_each(|i| bodies.call(i)),
        "reduce" => {
            let each = |i: usize| {
                bodies.call(i);
                i
            };
            let sum = (0..count).into_par_iter().with_max_len(1).map(each).sum::<usize>();
            harness::check(sum == count * (count - 1) / 2, "not the sum");
        }
        "each" => numbers.par_iter().for_each(|&i| bodies.call(i)),
        "input" => numbers.into_iter().par_bridge().for_each(|i| bodies.call(i)),
        "own" => rayon::iter::split((0, count), halves)
            .for_each(|(begin, end)| (begin..end).for_each(|i| bodies.call(i))),
        "group" => rayon::scope(|scope| {
            for i in 0..count {
                scope.spawn(move |_| bodies.call(i));
            }
        }),
        "feeder" => rayon::scope(|scope| feed(scope, bodies, 0)),
        _ => {
            harness::check(how == "invoke", "there is no such how=");
            invoke(bodies, 0, count);
        }
    }
}

pub fn even(arguments: &mut Arguments, outcome: &mut Outcome) {
    let us = arguments.number("us", 10000);
    let calls = arguments.number("calls", 1);
    let how = arguments.text("how", "simple");
    let pool = harness::pool(arguments.threads);
    let mut ratios = Ratios::new(arguments.threads);
    for (name, each) in [("one a thread", 1), ("four a thread", 4)] {
        let bodies = vec![if each == 1 { us } else { us / 2 }; each * arguments.threads];
        let seconds = time_calls(&bodies, calls, |b| pool.install(|| run_loop(&how, b)));
        ratios.add(name, Bounds::of(&bodies), seconds);
    }
    ratios.report(outcome);
}

pub fn uneven(arguments: &mut Arguments, outcome: &mut Outcome) {
    let us = arguments.number("us", 2000);
    let calls = arguments.number("calls", 1);
    let places = arguments.number("places", 3) as usize;
    let how = arguments.text("how", "simple");
    harness::check(places >= 2, "places= is at least 2");
    let pool = harness::pool(arguments.threads);
    let mut ratios = Ratios::new(arguments.threads);
    let mut add = |name: &'static str, bodies: &[u64]| {
        let seconds = time_calls(bodies, calls, |b| pool.install(|| run_loop(&how, b)));
        ratios.add(name, Bounds::of(bodies), seconds);
    };
    let count = 4 * arguments.threads;
    let mut random = Random(1);
    let uniform: Vec<u64> = (0..count).map(|_| random.below(2 * us)).collect();
    add("uniform", &uniform);
    let exponential: Vec<u64> = (0..count)
        .map(|_| {
            let uniform = ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            (-uniform.ln() * us as f64) as u64
        })
        .collect();
    add("exponential", &exponential);
    let pairs = 2 * arguments.threads;
    let places = places.min(pairs);
    for i in 0..places {
        let mut bodies = vec![us; pairs];
        bodies[(pairs - 1) * i / (places - 1)] = 3 * us;
        add(if i == 0 { "heavy first" } else { "heavy elsewhere" }, &bodies);
    }
    ratios.report(outcome);
}
