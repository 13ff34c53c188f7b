// SPDX-License-Identifier: Apache-2.0
//! The loads of wide_counts.hpp with rayon. It needs the modules harness and fork next to it.
#![allow(dead_code)] // each program uses only a part

use crate::{fork, harness};
use harness::{Arguments, Outcome};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

extern "C" {
    fn raise(signal: i32) -> i32;
}

const MARK: i32 = 12; // SIGUSR2

/// Instructions, locked ones, process barriers, wake-ups, sleeps.
type Counts = [f64; 5];

fn counted(work: impl FnOnce()) -> Counts {
    let Ok(path) = std::env::var("BENCH_COUNTS") else {
        eprintln!("it runs under bench/lab/counts only");
        std::process::exit(77);
    };
    unsafe { raise(MARK) };
    work();
    unsafe { raise(MARK) };
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let found: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    harness::check(found.len() == 5, "there are no counts");
    [found[0], found[1], found[2], found[3], found[4]]
}

fn load(how: &str, n: u32, numbers: &[AtomicU32]) {
    let add = |number: &AtomicU32| {
        // A plain increment: no other thread writes this number.
        number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    };
    match how {
        "fork" => {
            harness::check(fork::parallel(n, 2) == fork::by_addition(n), "not the Fibonacci number")
        }
        "for" => (0..numbers.len()).into_par_iter().with_max_len(1).for_each(|i| add(&numbers[i])),
        "auto" => (0..numbers.len()).into_par_iter().for_each(|i| add(&numbers[i])),
        _ => {
            harness::check(how == "each", "there is no such how=");
            numbers.par_iter().for_each(add);
        }
    }
}

/// A load's arguments, as in wide_counts.hpp.
struct Load {
    how: String,
    n: u32,
    calls: u64,
    forks: bool,
}

impl Load {
    fn new(arguments: &mut Arguments, outcome: &mut Outcome) -> Self {
        let how = arguments.text("how", "fork");
        let n = arguments.number("n", 10) as u32;
        let calls = arguments.number("calls", 1);
        arguments.text("counted", "");
        harness::check(n > 0 && calls > 0, "n= and calls= are at least 1");
        outcome.checksum = u64::from(n);
        let forks = how == "fork";
        Load { how, n, calls, forks }
    }

    fn tasks_of(&self, size: u32) -> f64 {
        if self.forks {
            fork::by_addition(size + 1) as f64 - 1.0
        } else {
            f64::from(size)
        }
    }

    /// The counts of the calls with the size `n`. One more call before them warms up.
    fn count(&self, n: u32, pool: &rayon::ThreadPool) -> Counts {
        let length = if self.forks { 0 } else { n };
        let numbers: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
        let call = || pool.install(|| load(&self.how, n, &numbers));
        call();
        let found = counted(|| (0..self.calls).for_each(|_| call()));
        let expected = self.calls + 1;
        let all = numbers.iter().all(|each| u64::from(each.load(Ordering::Relaxed)) == expected);
        harness::check(all, "an iteration is missing");
        found
    }
}

/// The locked instructions that a task adds: the difference of two sizes.
pub fn count_locked(arguments: &mut Arguments, outcome: &mut Outcome) {
    let load = Load::new(arguments, outcome);
    let more = if load.forks { load.n + 2 } else { 2 * load.n };
    let tasks = load.tasks_of(more) - load.tasks_of(load.n);
    let pool = harness::pool(arguments.threads);
    let (seconds, (few, many)) =
        harness::timed(|| (load.count(load.n, &pool), load.count(more, &pool)));
    outcome.seconds = seconds;
    outcome.value = (many[1] - few[1]) / tasks;
    let once = few[1] - outcome.value * load.tasks_of(load.n);
    outcome.extra.insert("instructions".to_string(), (many[0] - few[0]) / tasks);
    outcome.extra.insert("locked, of a call".to_string(), once);
}

pub fn count_calls(arguments: &mut Arguments, outcome: &mut Outcome) {
    let load = Load::new(arguments, outcome);
    let pool = harness::pool(arguments.threads);
    let (seconds, found) = harness::timed(|| load.count(load.n, &pool));
    let calls = load.calls as f64;
    outcome.seconds = seconds;
    outcome.value = found[3] / calls;
    outcome.extra.insert("sleeps".to_string(), found[4] / calls);
    outcome.extra.insert("process barriers".to_string(), found[2] / calls);
}
