// SPDX-License-Identifier: Apache-2.0
//! A bounded queue with the channel of crossbeam.

#[path = "../frame.rs"]
mod frame;
#[path = "../transfer.rs"]
mod transfer;

use crossbeam::channel::{bounded, Receiver, Sender};

struct Queue(Sender<u64>, Receiver<u64>);

impl transfer::Queue for Queue {
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = bounded(capacity);
        Queue(sender, receiver)
    }

    fn push(&self, item: u64) {
        frame::check(self.0.send(item).is_ok(), "the channel is closed");
    }

    fn pop(&self) -> u64 {
        self.1.recv().unwrap_or(0)
    }
}

fn main() {
    transfer::measure::<Queue>();
}
