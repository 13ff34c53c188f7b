// SPDX-License-Identifier: Apache-2.0
//! A queue with the SegQueue of crossbeam.

#[path = "../frame.rs"]
mod frame;
#[path = "../transfer.rs"]
mod transfer;

struct Queue(crossbeam::queue::SegQueue<u64>);

impl transfer::Queue for Queue {
    fn new(_: usize) -> Self {
        Queue(crossbeam::queue::SegQueue::new())
    }

    fn push(&self, item: u64) {
        self.0.push(item);
    }

    fn pop(&self) -> u64 {
        transfer::until(|| self.0.pop())
    }
}

fn main() {
    transfer::measure::<Queue>();
}
