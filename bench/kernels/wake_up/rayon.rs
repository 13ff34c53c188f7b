// SPDX-License-Identifier: Apache-2.0
//! Waking up with rayon; wake_up.hpp says what is measured.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "../harness.rs"]
mod harness;

/// Each body stays here until the last has come. Times are nanoseconds from `called`.
struct Meeting {
    called: Instant,
    expected: usize,
    come: AtomicUsize,
    complete_at: AtomicU64,
}

impl Meeting {
    fn come(&self) {
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.expected {
            let time = self.called.elapsed().as_nanos() as u64;
            self.complete_at.store(time.max(1), Ordering::Release);
        }
        for spins in 1u64.. {
            if self.complete_at.load(Ordering::Acquire) != 0 {
                return;
            }
            if spins % 1024 == 0 {
                std::thread::yield_now();
                harness::check(self.called.elapsed().as_secs() < 10, "a thread never came");
            }
        }
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64 + 0.5) as usize]
}

fn main() {
    harness::run(|arguments, outcome| {
        let calls = arguments.number("calls", 3);
        let threads = arguments.threads;
        harness::check(calls > 0, "calls= is at least 1");
        let pool = harness::pool(threads);
        pool.install(|| (0..threads).into_par_iter().with_max_len(1).for_each(|_| {}));
        let mut times = Vec::new();
        let (seconds, ()) = harness::timed(|| {
            for _ in 0..calls {
                std::thread::sleep(Duration::from_millis(10));
                let meeting = Meeting {
                    called: Instant::now(),
                    expected: threads,
                    come: AtomicUsize::new(0),
                    complete_at: AtomicU64::new(0),
                };
                pool.install(|| {
                    let bodies = (0..threads).into_par_iter().with_max_len(1);
                    bodies.for_each(|_| meeting.come());
                });
                times.push(meeting.complete_at.into_inner() as f64 * 1e-3);
            }
        });
        times.sort_by(f64::total_cmp);
        outcome.seconds = seconds;
        outcome.value = percentile(&times, 0.5);
        outcome.extra.insert("p99".to_string(), percentile(&times, 0.99));
        outcome.checksum = times.len() as u64;
    });
}
