// SPDX-License-Identifier: Apache-2.0
//! The kernels of queues for the Rust contestants; transfer.hpp says what they measure. A contestant's
//! program implements `Queue` and calls `measure`.

use crate::frame::{self, check};
use std::sync::atomic::{AtomicU64, Ordering};

pub trait Queue: Sync {
    fn new(capacity: usize) -> Self;
    fn push(&self, item: u64);
    fn pop(&self) -> u64;
}

const CAPACITY: usize = 1024;
const BURST: u64 = 100;

/// Calls `attempt()` until it succeeds, for queues that do not wait themselves.
#[allow(dead_code)]
pub fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut spins = 1u64;
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        if spins % 16 == 0 {
            std::thread::yield_now();
        }
        spins += 1;
    }
}

fn push_and_pop(queue: &impl Queue, first: u64, count: u64, burst: u64) -> u64 {
    let mut sum = 0u64;
    for i in (0..count).step_by(burst as usize) {
        (0..burst).for_each(|k| queue.push(first + i + k));
        (0..burst).for_each(|_| sum = sum.wrapping_add(frame::mark_of(queue.pop())));
    }
    sum
}

fn work_of(queue: &impl Queue, work: &str, thread: u64, threads: u64, count: u64) -> u64 {
    let each = count / threads;
    if work == "pairs" {
        return push_and_pop(queue, thread * each, each, 1);
    }
    if work == "bursts" || threads == 1 {
        return push_and_pop(queue, thread * each, each, BURST);
    }
    let own = 2 * each;
    if thread % 2 == 0 {
        (0..own).for_each(|i| queue.push(thread / 2 * own + i));
        return 0;
    }
    (0..own).fold(0, |sum: u64, _| sum.wrapping_add(frame::mark_of(queue.pop())))
}

/// The main program of a contestant.
pub fn measure<Q: Queue>() {
    frame::run(|arguments, outcome| {
        let work = arguments.text("work", "transfer");
        let count = arguments.number("count", 80_000);
        let threads = arguments.threads;
        check(count % (threads as u64 * BURST) == 0, "count= is a multiple of 100 for every thread");
        let queue = Q::new(CAPACITY);
        let sum = AtomicU64::new(0);
        outcome.seconds = frame::in_threads(threads, |thread| {
            let own = work_of(&queue, &work, thread as u64, threads as u64, count);
            sum.fetch_add(own, Ordering::Relaxed); // a sum, read after the threads end
        });
        outcome.value = frame::core_seconds_each(outcome.seconds, threads, count) * 1e9;
        outcome.checksum = sum.load(Ordering::Relaxed);
    });
}
