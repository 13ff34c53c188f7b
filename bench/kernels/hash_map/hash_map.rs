// SPDX-License-Identifier: Apache-2.0
//! The hash map kernel for the Rust contestants; hash_map.hpp says what it measures. A contestant's
//! program implements `Map` and calls `measure`.

use crate::container_keys::{in_lanes, Key, Random, Ranks, LANES};
use crate::frame::{self, check};
use std::sync::atomic::{AtomicU64, Ordering};

pub trait Map<K: Key>: Default + Sync {
    fn insert(&self, key: K, value: u64) -> bool;
    fn find(&self, key: &K) -> Option<u64>;
    fn add(&self, key: &K, value: u64) -> bool;
    fn erase(&self, key: &K) -> bool;
}

const UPDATE: u64 = 1 << 32;
const UPDATE_BIT: u32 = 1 << 31;

struct Run {
    threads: usize,
    keys: u64,
    count: u64,
}

fn check_value(value: u64, number: u64) {
    check(value & (UPDATE - 1) == number, "a key has another key's value");
}

fn lookups(run: &Run, zipf: bool) -> Vec<u32> {
    let ranks = Ranks::new(run.keys, zipf);
    let mut random = Random::new(1);
    let mut draw = |_| {
        let rank = ranks.draw(&mut random);
        rank | if random.below(10) == 0 { UPDATE_BIT } else { 0 }
    };
    (0..run.count).map(&mut draw).collect()
}

fn changes(run: &Run) -> Vec<u32> {
    let mut random = Random::new(2);
    let mut draw = |i| {
        let lane = i / (run.count / LANES);
        let number = (random.below(run.keys / LANES) * LANES + lane) as u32;
        number | if random.below(2) == 0 { UPDATE_BIT } else { 0 }
    };
    (0..run.count).map(&mut draw).collect()
}

fn fill<K: Key, M: Map<K>>(keys: &[K], step: usize) -> M {
    let map = M::default();
    for (i, key) in keys.iter().enumerate().step_by(step) {
        check(map.insert(key.clone(), i as u64), "a new key is there already");
    }
    map
}

fn sum_of<K: Key>(map: &impl Map<K>, keys: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..keys {
        if let Some(value) = map.find(&K::key_of(i)) {
            check_value(value, i);
            sum = sum.wrapping_add(frame::mark_of(i) ^ value);
        }
    }
    sum
}

fn look_up<K: Key, M: Map<K>>(run: &Run, zipf: bool) -> (f64, u64) {
    let keys: Vec<K> = (0..run.keys).map(K::key_of).collect();
    let map: M = fill(&keys, 1);
    let operations = lookups(run, zipf);
    let each = (run.count / LANES) as usize;
    let seconds = in_lanes(run.threads, |lane| {
        let first = lane as usize * each;
        for &operation in &operations[first..first + each] {
            let number = operation & !UPDATE_BIT;
            let key = &keys[number as usize];
            if operation & UPDATE_BIT != 0 {
                check(map.add(key, UPDATE), "a key is missing");
            } else {
                match map.find(key) {
                    Some(value) => check_value(value, number.into()),
                    None => check(false, "a key is missing"),
                }
            }
        }
    });
    (seconds, sum_of(&map, run.keys))
}

fn grow<K: Key, M: Map<K>>(run: &Run) -> (f64, u64) {
    let map = M::default();
    let each = run.count / LANES;
    let seconds = in_lanes(run.threads, |lane| {
        for i in lane * each..(lane + 1) * each {
            check(map.insert(K::key_of(i), i), "a new key is there already");
        }
    });
    (seconds, sum_of(&map, run.count))
}

fn change<K: Key, M: Map<K>>(run: &Run) -> (f64, u64) {
    let keys: Vec<K> = (0..run.keys).map(K::key_of).collect();
    let map: M = fill(&keys, 2);
    let operations = changes(run);
    let each = (run.count / LANES) as usize;
    let successes = AtomicU64::new(0);
    let seconds = in_lanes(run.threads, |lane| {
        let first = lane as usize * each;
        let mut own = 0;
        for &operation in &operations[first..first + each] {
            let number = operation & !UPDATE_BIT;
            let key = &keys[number as usize];
            own += u64::from(if operation & UPDATE_BIT != 0 {
                map.insert(key.clone(), number.into())
            } else {
                map.erase(key)
            });
        }
        successes.fetch_add(own, Ordering::Relaxed); // a sum, read after the threads end
    });
    (seconds, sum_of(&map, run.keys).wrapping_add(successes.load(Ordering::Relaxed)))
}

fn measure_with<K: Key, M: Map<K>>(run: &Run, work: &str) -> (f64, u64) {
    match work {
        "grow" => grow::<K, M>(run),
        "change" => change::<K, M>(run),
        "zipf" => look_up::<K, M>(run, true),
        _ => look_up::<K, M>(run, false),
    }
}

/// The main program of a contestant with these two maps.
pub fn measure<Integers: Map<u64>, Strings: Map<String>>() {
    frame::run(|arguments, outcome| {
        let work = arguments.text("work", "uniform");
        let count = arguments.number("count", 64_000);
        let keys = if work == "grow" { 0 } else { arguments.number("keys", 64_000) };
        let run = Run { threads: arguments.threads, keys, count };
        check(count % LANES == 0 && keys % LANES == 0, "count= and keys= are multiples of 64");
        (outcome.seconds, outcome.checksum) = if arguments.text("key", "integer") == "string" {
            measure_with::<String, Strings>(&run, &work)
        } else {
            measure_with::<u64, Integers>(&run, &work)
        };
        outcome.value = frame::core_seconds_each(outcome.seconds, run.threads, count) * 1e9;
    });
}
