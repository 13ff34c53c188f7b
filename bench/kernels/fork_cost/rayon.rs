// SPDX-License-Identifier: Apache-2.0
//! The cost of a fork with rayon's join; fork_cost.hpp says what the figure is.

#[path = "../fibonacci/fork.rs"]
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
        let cores = arguments.threads.min(harness::usable_cores()) as f64;
        let forks = (fork::by_addition(n + 1) - 1) as f64;
        outcome.checksum = result;
        outcome.seconds = seconds;
        outcome.value = seconds * 1e9 * cores / forks;
    });
}
