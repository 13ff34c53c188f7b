// SPDX-License-Identifier: Apache-2.0
//! The Rust side of wide.hpp: bodies that sleep, and the ratios to the greedy bound. It needs the
//! module harness next to it.
#![allow(dead_code)] // each program uses only a part

use crate::harness::{self, Outcome};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bodies that sleep for given times, and count that each is called once.
pub struct Bodies {
    us: Vec<u64>,
    calls: Vec<AtomicU32>,
    created: Instant,
    last_ns: AtomicU64, // when the last body began, after `created`
}

impl Bodies {
    pub fn new(us: &[u64]) -> Self {
        let calls = us.iter().map(|_| AtomicU32::new(0)).collect();
        Bodies { us: us.to_vec(), calls, created: Instant::now(), last_ns: AtomicU64::new(0) }
    }

    pub fn count(&self) -> usize {
        self.us.len()
    }

    /// The i-th body.
    pub fn call(&self, i: usize) {
        self.last_ns.fetch_max(self.created.elapsed().as_nanos() as u64, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(self.us[i]));
        self.calls[i].fetch_add(1, Ordering::Relaxed);
    }

    /// Seconds from `called`, which is after the creation, until the last body began.
    pub fn last_begin(&self, called: Instant) -> f64 {
        let before = (called - self.created).as_secs_f64();
        self.last_ns.load(Ordering::Relaxed) as f64 * 1e-9 - before
    }

    pub fn check_calls(&self) {
        let once = self.calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1);
        harness::check(once, "a body was not called once");
    }
}

/// The work and the longest chain of a call, in seconds.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub work: f64,
    pub chain: f64,
}

impl Bounds {
    pub fn of(us: &[u64]) -> Self {
        Bounds {
            work: us.iter().sum::<u64>() as f64 * 1e-6,
            chain: us.iter().copied().max().unwrap_or(0) as f64 * 1e-6,
        }
    }
}

/// Gathers the calls of one run. The run's figure is the worst ratio.
pub struct Ratios {
    threads: f64,
    worst: BTreeMap<&'static str, f64>,
    graham: f64,
    seconds: f64,
}

impl Ratios {
    pub fn new(threads: usize) -> Self {
        let threads = threads as f64;
        Ratios { threads, worst: BTreeMap::new(), graham: 0.0, seconds: 0.0 }
    }

    pub fn add(&mut self, extra: &'static str, bounds: Bounds, seconds: f64) {
        let share = bounds.work / self.threads;
        let worst = self.worst.entry(extra).or_insert(0.0);
        *worst = worst.max(seconds / share.max(bounds.chain));
        let graham = share + bounds.chain * (1.0 - 1.0 / self.threads);
        self.graham = self.graham.max(seconds / graham);
        self.seconds += seconds;
    }

    pub fn report(self, outcome: &mut Outcome) {
        outcome.checksum = self.worst.len() as u64;
        outcome.value = self.worst.values().copied().fold(0.0, f64::max);
        if self.worst.len() > 1 {
            outcome.extra.extend(self.worst.iter().map(|(name, ratio)| (name.to_string(), *ratio)));
        }
        outcome.extra.insert("÷ Graham's bound".to_string(), self.graham);
        outcome.seconds = self.seconds;
    }
}

/// The median time of `calls` calls of `call(bodies)`, each with bodies of its own.
pub fn time_calls(us: &[u64], calls: u64, call: impl Fn(&Bodies)) -> f64 {
    harness::check(calls > 0, "calls= is at least 1");
    let mut times: Vec<f64> = (0..calls)
        .map(|_| {
            let bodies = Bodies::new(us);
            let (seconds, ()) = harness::timed(|| call(&bodies));
            bodies.check_calls();
            seconds
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// SplitMix64, as in harness.hpp.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In [0, bound); bound below 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }
}
