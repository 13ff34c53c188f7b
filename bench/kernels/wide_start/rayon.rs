// SPDX-License-Identifier: Apache-2.0
//! The ramp-up with rayon; wide_start.hpp says what is measured.

use std::time::{Duration, Instant};

#[path = "../harness.rs"]
mod harness;
#[path = "../wide.rs"]
mod wide;
#[path = "../wide_loops.rs"]
mod wide_loops;

fn main() {
    harness::run(|arguments, outcome| {
        let us = arguments.number("us", 10000);
        let pause = Duration::from_micros(arguments.number("pause_us", 0));
        let calls = arguments.number("calls", 5) as usize;
        let how = arguments.text("how", "simple");
        harness::check(calls > 0, "calls= is at least 1");
        let pool = harness::pool(arguments.threads);
        let mut last = Vec::new();
        for i in 0..=calls {
            std::thread::sleep(pause);
            let bodies = wide::Bodies::new(&vec![us; arguments.threads]);
            let called = Instant::now();
            pool.install(|| wide_loops::run_loop(&how, &bodies));
            outcome.seconds += called.elapsed().as_secs_f64();
            // The first call warms up what follows it.
            if i > 0 {
                last.push(bodies.last_begin(called) * 1e6);
            }
        }
        last.sort_by(f64::total_cmp);
        outcome.value = last[calls / 2];
        outcome.extra.insert("worst".to_string(), last[calls - 1]);
        outcome.checksum = calls as u64;
    });
}
