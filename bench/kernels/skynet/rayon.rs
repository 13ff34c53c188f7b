// SPDX-License-Identifier: Apache-2.0
//! Skynet with rayon: the ten children are a parallel iterator with pieces of one.

use rayon::prelude::*;

#[path = "../harness.rs"]
mod harness;

const CHILDREN: u64 = 10;

fn sum(first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    let part = size / CHILDREN;
    let children = (0..CHILDREN as usize).into_par_iter().with_max_len(1);
    children.map(|i| sum(first + i as u64 * part, part)).sum()
}

fn main() {
    harness::run(|arguments, outcome| {
        let leaves = arguments.number("leaves", 1000);
        let power = (0..12).any(|exponent| CHILDREN.pow(exponent) == leaves);
        harness::check(power, "leaves= is a power of ten");
        let pool = harness::pool(arguments.threads);
        pool.install(|| sum(0, 100));
        let (seconds, found) = harness::timed(|| pool.install(|| sum(0, leaves)));
        harness::check(found == leaves * (leaves - 1) / 2, "not the sum of the leaves");
        outcome.checksum = found;
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
