// SPDX-License-Identifier: Apache-2.0
//! The empty loop with rayon. Halving gives lengths between half the grain size and the grain size;
//! without a grain size rayon decides.

use rayon::prelude::*;
use std::arch::asm;

#[path = "../harness.rs"]
mod harness;

/// The count and the sum of the numbers; the compiler computes both from a part's bounds.
type Tally = (u64, u64);

fn nothing() {
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) }
}

fn iterate(tally: Tally, i: u64) -> Tally {
    nothing();
    (tally.0 + 1, tally.1.wrapping_add(i))
}

fn add(a: Tally, b: Tally) -> Tally {
    (a.0 + b.0, a.1.wrapping_add(b.1))
}

/// The call that is not timed (see parallel_for.hpp).
fn run_counted(count: u64, grain: u64) -> Tally {
    let range = (0..count as usize).into_par_iter();
    let step = |tally, i| iterate(tally, i as u64);
    if grain == 0 {
        return range.fold(|| (0, 0), step).reduce(|| (0, 0), add);
    }
    let grain = grain as usize;
    let range = range.with_min_len((grain / 2).max(1)).with_max_len(grain);
    range.fold(|| (0, 0), step).reduce(|| (0, 0), add)
}

fn run_timed(count: u64, grain: u64) {
    let range = (0..count as usize).into_par_iter();
    if grain == 0 {
        return range.for_each(|_| nothing());
    }
    let grain = grain as usize;
    range.with_min_len((grain / 2).max(1)).with_max_len(grain).for_each(|_| nothing());
}

fn main() {
    harness::run(|arguments, outcome| {
        let count = arguments.number("count", 1_000_000);
        let grain = arguments.number("grain", 0);
        let pool = harness::pool(arguments.threads);
        let tally = pool.install(|| run_counted(count, grain));
        let all = (count, count * (count - 1) / 2);
        harness::check(tally == all, "an iteration was left out or done twice");
        let (seconds, ()) = harness::timed(|| pool.install(|| run_timed(count, grain)));
        outcome.checksum = count;
        outcome.seconds = seconds;
        outcome.value = seconds;
    });
}
