// SPDX-License-Identifier: Apache-2.0
//! Waking up with rayon; wake_up.hpp says what is measured.

use harness::Meeting;
use std::time::Duration;

#[path = "../harness.rs"]
mod harness;

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64 + 0.5) as usize]
}

fn main() {
    harness::run(|arguments, outcome| {
        let calls = arguments.number("calls", 3);
        let threads = arguments.threads;
        harness::check(calls > 0, "calls= is at least 1");
        let pool = harness::pool(threads);
        let mut times = Vec::new();
        let (seconds, ()) = harness::timed(|| {
            for _ in 0..calls {
                std::thread::sleep(Duration::from_millis(10));
                let meeting = Meeting::new(threads, Duration::from_secs(10));
                pool.install(|| {
                    harness::each(threads, || {
                        harness::check(meeting.come(), "a thread never came");
                    });
                });
                times.push(meeting.seconds() * 1e6);
            }
        });
        times.sort_by(f64::total_cmp);
        outcome.seconds = seconds;
        outcome.value = percentile(&times, 0.5);
        outcome.extra.insert("p99".to_string(), percentile(&times, 0.99));
        outcome.checksum = times.len() as u64;
    });
}
