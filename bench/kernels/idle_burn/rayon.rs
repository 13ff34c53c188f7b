// SPDX-License-Identifier: Apache-2.0
//! What rayon's idle workers cost; idle_burn.hpp says what is measured.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[path = "../harness.rs"]
mod harness;

const PARTS: usize = 64;
const ITERATIONS: u32 = 300_000;

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
        let before = harness::clock(harness::PROCESS_TIME);
        let (seconds, ()) = harness::timed(|| std::thread::sleep(sleep));
        outcome.value = (harness::clock(harness::PROCESS_TIME) - before) * 1e6;
        outcome.seconds = seconds;
        outcome.checksum = done.into_inner();
        harness::check(outcome.checksum == PARTS as u64, "a part was left out or done twice");
    });
}
