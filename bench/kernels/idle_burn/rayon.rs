// SPDX-License-Identifier: Apache-2.0
//! What rayon's idle workers cost; idle_burn.hpp says what is measured.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[path = "../harness.rs"]
mod harness;

const PARTS: usize = 64;
const ITERATIONS: u32 = 300_000;

// See processor_seconds in idle_burn.hpp.
fn processor_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("a list of threads");
    threads
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .map(|thread| harness::clock((!thread << 3) | 4 | 2))
        .sum()
}

fn main() {
    harness::run(|arguments, outcome| {
        let sleep = Duration::from_millis(arguments.number("sleep_ms", 10));
        let pool = harness::pool(arguments.threads);
        let done = AtomicU64::new(0);
        pool.install(|| {
            harness::each(PARTS, || {
                for _ in 0..ITERATIONS {
                    unsafe { asm!("", options(nomem, nostack, preserves_flags)) }
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        let before = processor_seconds();
        let (seconds, ()) = harness::timed(|| std::thread::sleep(sleep));
        outcome.value = (processor_seconds() - before) * 1e6;
        outcome.seconds = seconds;
        outcome.checksum = done.into_inner();
        harness::check(outcome.checksum == PARTS as u64, "a part was left out or done twice");
    });
}
