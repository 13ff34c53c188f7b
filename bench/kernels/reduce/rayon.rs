// SPDX-License-Identifier: Apache-2.0
//! The sum of floats with rayon, over blocks. The data, the check and the sum of a block are those
//! of reduce.hpp.

use rayon::prelude::*;
use std::hint::black_box;

#[path = "../harness.rs"]
mod harness;

const BLOCK: usize = 4096;
const LANES: usize = 16;

fn sum(block: &[f32]) -> f64 {
    let mut lanes = [0f32; LANES];
    let groups = block.chunks_exact(LANES);
    let rest: f32 = groups.remainder().iter().sum();
    for group in groups {
        for (lane, value) in lanes.iter_mut().zip(group) {
            *lane += value;
        }
    }
    f64::from(lanes.iter().sum::<f32>() + rest)
}

fn total(values: &[f32]) -> f64 {
    values.par_chunks(BLOCK).map(sum).sum()
}

fn main() {
    harness::run(|arguments, outcome| {
        let count = arguments.number("count", 100_000);
        let passes = arguments.number("passes", 2);
        let values: Vec<f32> = (0..count).map(|i| (i % 101) as f32).collect();
        let expected: u64 = (0..count).map(|i| i % 101).sum();
        let pool = harness::pool(arguments.threads);
        let few = values.len().min(10_000);
        pool.install(|| total(&values[..few]));
        let (seconds, right) = harness::timed(|| {
            pool.install(|| (0..passes).all(|_| total(black_box(&values)) == expected as f64))
        });
        harness::check(right, "not the sum");
        let bytes = (4 * count * passes) as f64;
        outcome.checksum = expected;
        outcome.extra.insert("GB/s".to_string(), bytes / seconds * 1e-9);
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
