// SPDX-License-Identifier: Apache-2.0
//! Fibonacci with rayon's join.

#[path = "fork.rs"]
mod fork;
#[path = "../harness.rs"]
mod harness;

fn main() {
    harness::run(|arguments, outcome| {
        let n = arguments.number("n", 25) as u32;
        let cutoff = arguments.number("cutoff", 2) as u32;
        let pool = harness::pool(arguments.threads);
        pool.install(|| fork::parallel(n.min(12), 2));
        let (seconds, result) = harness::timed(|| pool.install(|| fork::parallel(n, cutoff)));
        harness::check(result == fork::by_addition(n), "not the Fibonacci number");
        outcome.checksum = result;
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
