// SPDX-License-Identifier: Apache-2.0
//! The kernels of maps that grow only, for the Rust contestants; insert_find.hpp says what they
//! measure. A contestant's program implements `Map` and calls `measure`.

use crate::container_keys::{in_lanes, Key, Random, LANES};
use crate::frame::{self, check};
use std::sync::atomic::{AtomicU64, Ordering};

pub trait Map<K: Key>: Default + Sync {
    fn insert(&self, key: K, value: u64) -> bool;
    fn find(&self, key: &K) -> Option<u64>;
}

fn insert<K: Key, M: Map<K>>(threads: usize, count: u64) -> (f64, u64) {
    let map = M::default();
    let each = count / LANES;
    let refused = AtomicU64::new(0);
    let seconds = in_lanes(threads, |lane| {
        for i in lane * each..(lane + 1) * each {
            check(map.insert(K::key_of(i), i), "a new key is there already");
        }
        let failed = !map.insert(K::key_of(count), count);
        refused.fetch_add(failed.into(), Ordering::Relaxed); // a sum, read after the threads end
    });
    let refused = refused.load(Ordering::Relaxed);
    check(refused == LANES - 1, "a key was inserted twice");
    let mark = |i| {
        check(map.find(&K::key_of(i)) == Some(i), "a key is missing");
        frame::mark_of(i)
    };
    (seconds, (0..count).map(mark).fold(refused, u64::wrapping_add))
}

fn find<K: Key, M: Map<K>>(threads: usize, keys: u64, count: u64) -> (f64, u64) {
    let map = M::default();
    let all: Vec<K> = (0..keys).map(K::key_of).collect();
    for (i, key) in all.iter().enumerate().step_by(2) {
        map.insert(key.clone(), i as u64);
    }
    let mut random = Random::new(1);
    let drawn: Vec<u32> = (0..count).map(|_| random.below(keys) as u32).collect();
    let each = (count / LANES) as usize;
    let sum = AtomicU64::new(0);
    let seconds = in_lanes(threads, |lane| {
        let first = lane as usize * each;
        let mut own = 0;
        for &number in &drawn[first..first + each] {
            let found = map.find(&all[number as usize]);
            let wanted = if number % 2 == 0 { Some(number.into()) } else { None };
            check(found == wanted, "a look-up is wrong");
            own += found.unwrap_or(1);
        }
        sum.fetch_add(own, Ordering::Relaxed); // a sum, read after the threads end
    });
    (seconds, sum.load(Ordering::Relaxed))
}

fn measure_with<K: Key, M: Map<K>>(work: &str, threads: usize, keys: u64, count: u64) -> (f64, u64) {
    match work {
        "insert" => insert::<K, M>(threads, count),
        _ => find::<K, M>(threads, keys, count),
    }
}

/// The main program of a contestant with these two maps.
pub fn measure<Integers: Map<u64>, Strings: Map<String>>() {
    frame::run(|arguments, outcome| {
        let work = arguments.text("work", "insert");
        let count = arguments.number("count", 64_000);
        check(count % LANES == 0, "count= is a multiple of 64");
        let keys = if work == "find" { arguments.number("keys", 64_000) } else { 0 };
        let threads = arguments.threads;
        (outcome.seconds, outcome.checksum) = if arguments.text("key", "integer") == "string" {
            measure_with::<String, Strings>(&work, threads, keys, count)
        } else {
            measure_with::<u64, Integers>(&work, threads, keys, count)
        };
        outcome.value = frame::core_seconds_each(outcome.seconds, threads, count) * 1e9;
    });
}
