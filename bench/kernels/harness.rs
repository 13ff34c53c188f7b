// SPDX-License-Identifier: Apache-2.0
//! The frame of the programs that use rayon: frame.rs and pools of threads. A program includes it with
//! `#[path = "../harness.rs"] mod harness;` and calls `harness::run(|arguments, outcome| ...)`.
#![allow(dead_code)] // each program uses only a part

use rayon::prelude::*;
use std::time::Duration;

#[path = "frame.rs"]
mod frame;
pub use frame::*;

/// A pool of `threads` workers. As with the other schedulers the caller is one of them: it runs itself
/// what it installs. The threads may still be starting.
pub fn cold_pool(threads: usize) -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    builder.build().unwrap_or_else(|error| fail(1, &error.to_string()))
}

/// A pool in which each thread has already run once.
pub fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = cold_pool(threads);
    let meeting = Meeting::new(threads, Duration::from_millis(50));
    pool.install(|| each(threads, || _ = meeting.come()));
    pool
}

/// Calls `body` `count` times, each time as a separate task.
pub fn each(count: usize, body: impl Fn() + Sync) {
    (0..count).into_par_iter().with_max_len(1).for_each(|_| body());
}
