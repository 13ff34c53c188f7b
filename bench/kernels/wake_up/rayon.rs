// SPDX-License-Identifier: Apache-2.0
//! Waking up with rayon; wake_up.hpp says what is measured.

use harness::Meeting;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[path = "../harness.rs"]
mod harness;

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64 + 0.5) as usize]
}

fn pause(pause_us: u64) {
    let pause = Duration::from_micros(pause_us);
    if pause_us >= 1000 {
        return std::thread::sleep(pause);
    }
    let begin = Instant::now();
    while begin.elapsed() < pause {}
}

/// std parks a thread in a futex, on Linux. None ends the thread.
fn bare_futex(calls: u64, pause_us: u64) -> f64 {
    let next: Arc<Mutex<Option<Option<Arc<Meeting>>>>> = Arc::default();
    let given = next.clone();
    let sleeper = std::thread::spawn(move || loop {
        let order = given.lock().unwrap().take();
        match order {
            None => std::thread::park(),
            Some(None) => return,
            Some(Some(meeting)) => _ = meeting.come(),
        }
    });
    let mut times = Vec::new();
    for _ in 0..calls {
        pause(pause_us);
        let meeting = Arc::new(Meeting::new(2, Duration::from_secs(10)));
        *next.lock().unwrap() = Some(Some(meeting.clone()));
        sleeper.thread().unpark();
        harness::check(meeting.come(), "a thread never came");
        times.push(meeting.seconds() * 1e6);
    }
    *next.lock().unwrap() = Some(None);
    sleeper.thread().unpark();
    harness::check(sleeper.join().is_ok(), "the sleeping thread failed");
    times.sort_by(f64::total_cmp);
    percentile(&times, 0.5)
}

fn main() {
    harness::run(|arguments, outcome| {
        let calls = arguments.number("calls", 3);
        let pause_us = arguments.number("pause_us", 10000);
        let threads = arguments.threads;
        harness::check(calls > 0, "calls= is at least 1");
        if threads > 1 {
            outcome.extra.insert("bare futex".to_string(), bare_futex(calls, pause_us));
        }
        let pool = harness::pool(threads);
        let mut times = Vec::new();
        let (seconds, ()) = harness::timed(|| {
            for _ in 0..calls {
                pause(pause_us);
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
