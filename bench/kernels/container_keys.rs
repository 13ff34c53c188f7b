// SPDX-License-Identifier: Apache-2.0
//! The keys and the operations of the kernels that measure associative containers, as in
//! container_keys.hpp.
#![allow(dead_code)] // each program uses only a part

use crate::frame;

/// The i-th key.
pub trait Key: Clone + Eq + Ord + std::hash::Hash + Send + Sync + 'static {
    fn key_of(i: u64) -> Self;
}

impl Key for u64 {
    fn key_of(i: u64) -> u64 {
        frame::mark_of(i)
    }
}

impl Key for String {
    fn key_of(i: u64) -> String {
        let mark = frame::mark_of(i);
        let mut made = b"user:0000000000000000000".to_vec();
        for digit in 0..16 {
            made[8 + digit] = b"0123456789abcdef"[(mark >> (4 * digit) & 15) as usize];
        }
        String::from_utf8(made).unwrap_or_default()
    }
}

pub const LANES: u64 = 64;

/// Calls `body(lane)` for every lane, on `threads` threads; returns the seconds.
pub fn in_lanes(threads: usize, body: impl Fn(u64) + Sync) -> f64 {
    let count = threads as u64;
    frame::in_threads(threads, |thread| {
        let thread = thread as u64;
        (LANES * thread / count..LANES * (thread + 1) / count).for_each(&body)
    })
}

/// As bench::Random.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        let made = frame::mark_of(self.0);
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        made
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }
}

/// Draws ranks below `count`: uniform, or by Zipf's law with exponent 0.99.
pub struct Ranks {
    count: u64,
    below: Vec<f64>,
}

impl Ranks {
    pub fn new(count: u64, zipf: bool) -> Self {
        let mut sum = 0.0;
        let weight = |rank| 1.0 / ((rank + 1) as f64).powf(0.99);
        let add = |rank| {
            sum += weight(rank);
            sum
        };
        Ranks { count, below: if zipf { (0..count).map(add).collect() } else { Vec::new() } }
    }

    pub fn draw(&self, random: &mut Random) -> u32 {
        match self.below.last() {
            None => random.below(self.count) as u32,
            Some(sum) => {
                let at = (random.next() >> 11) as f64 * (0.5f64).powi(53) * sum;
                self.below.partition_point(|&below| below < at) as u32
            }
        }
    }
}
