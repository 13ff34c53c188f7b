// SPDX-License-Identifier: Apache-2.0
//! A loop of two iterations with rayon; small_call.hpp says what is measured.

use rayon::prelude::*;
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};

#[path = "../harness.rs"]
mod harness;

const ITERATIONS: u64 = 2;

fn run_loop(body: impl Fn(u64) + Sync + Send) {
    (0..ITERATIONS as usize).into_par_iter().for_each(|i| body(i as u64));
}

fn main() {
    harness::run(|arguments, outcome| {
        let calls = arguments.number("calls", 1000);
        harness::check(calls > 0, "calls= is at least 1");
        let pool = harness::pool(arguments.threads);
        let (bodies, sum) = (AtomicU64::new(0), AtomicU64::new(0));
        let counted = calls.min(1000);
        pool.install(|| {
            for _ in 0..counted {
                run_loop(|i| {
                    bodies.fetch_add(1, Ordering::Relaxed);
                    sum.fetch_add(i, Ordering::Relaxed);
                });
            }
        });
        let all = bodies.into_inner() == ITERATIONS * counted && sum.into_inner() == counted;
        harness::check(all, "an iteration was left out or done twice");
        let (seconds, ()) = pool.install(|| {
            harness::timed(|| {
                for _ in 0..calls {
                    run_loop(|_| unsafe { asm!("", options(nomem, nostack, preserves_flags)) });
                }
            })
        });
        outcome.checksum = calls;
        outcome.seconds = seconds;
        outcome.value = seconds * 1e9 / calls as f64;
    });
}
