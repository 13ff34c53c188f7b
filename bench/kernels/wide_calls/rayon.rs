// SPDX-License-Identifier: Apache-2.0
//! The wake-ups of a call with rayon.

#[path = "../fibonacci/fork.rs"]
mod fork;
#[path = "../harness.rs"]
mod harness;
#[path = "../wide_counts.rs"]
mod wide_counts;

fn main() {
    harness::run(wide_counts::count_calls);
}
