// SPDX-License-Identifier: Apache-2.0
//! Many threads and even bodies with rayon.

#[path = "../harness.rs"]
mod harness;
#[path = "../wide.rs"]
mod wide;
#[path = "../wide_loops.rs"]
mod wide_loops;

fn main() {
    harness::run(wide_loops::even);
}
