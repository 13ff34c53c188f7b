// SPDX-License-Identifier: Apache-2.0
//! daxpy with rayon's parallel iterators. The data and the check are those of daxpy.hpp.

use rayon::prelude::*;

#[path = "../harness.rs"]
mod harness;

fn pass(a: f64, x: &[f64], y: &mut [f64]) {
    y.par_iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

fn main() {
    harness::run(|arguments, outcome| {
        let count = arguments.number("count", 100_000);
        let passes = arguments.number("passes", 2);
        let x: Vec<f64> = (0..count).map(|i| (i % 1000) as f64).collect();
        let mut y: Vec<f64> = (0..count).map(|i| (i % 7) as f64).collect();
        let pool = harness::pool(arguments.threads);
        let few = x.len().min(10_000);
        pool.install(|| pass(0.0, &x[..few], &mut y[..few]));
        let (seconds, ()) = harness::timed(|| {
            pool.install(|| {
                for _ in 0..passes {
                    pass(3.0, &x, &mut y);
                }
            });
        });
        for (i, &found) in (0..count).zip(&y) {
            let expected = i % 7 + passes * 3 * (i % 1000);
            harness::check(found == expected as f64, "an element is wrong");
            outcome.checksum += expected;
        }
        let bytes = (3 * 8 * count * passes) as f64;
        outcome.extra.insert("GB/s".to_string(), bytes / seconds * 1e-9);
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
