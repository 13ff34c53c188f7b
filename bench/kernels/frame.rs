// SPDX-License-Identifier: Apache-2.0
//! The Rust side of the kernels' protocol (harness.hpp): arguments, checks, memory figures, threads,
//! the one line of JSON. A program includes it with `#[path = "../frame.rs"] mod frame;` and calls
//! `frame::run(|arguments, outcome| ...)`. Descriptions come from the kernel's serial.cpp. harness.rs
//! adds rayon.
#![allow(dead_code)] // each program uses only a part

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The arguments of one run. One that the kernel never asks for is an error.
pub struct Arguments {
    values: BTreeMap<String, String>,
    asked: Vec<String>,
    pub threads: usize,
}

/// The result of one run, with the fields of `bench::Result`.
#[derive(Default)]
pub struct Outcome {
    pub value: f64,
    pub seconds: f64,
    pub checksum: u64,
    pub extra: BTreeMap<String, f64>,
    pub series: BTreeMap<String, Vec<f64>>,
}

impl Arguments {
    fn from_command_line() -> Self {
        let mut values = BTreeMap::new();
        for argument in std::env::args().skip(1) {
            match argument.split_once('=') {
                Some((name, value)) => values.insert(name.to_string(), value.to_string()),
                None => fail(2, &format!("'{argument}' is not of the form name=value")),
            };
        }
        let mut arguments = Arguments { values, asked: Vec::new(), threads: 1 };
        arguments.threads = arguments.number("threads", 1) as usize;
        if !(1..=4096).contains(&arguments.threads) {
            fail(2, "threads= must be from 1 to 4096");
        }
        arguments
    }

    pub fn number(&mut self, name: &str, fallback: u64) -> u64 {
        self.asked.push(name.to_string());
        match self.values.get(name) {
            None => fallback,
            Some(text) => match text.parse() {
                Ok(value) => value,
                Err(_) => fail(2, &format!("{name}= needs a whole number")),
            },
        }
    }

    pub fn text(&mut self, name: &str, fallback: &str) -> String {
        self.asked.push(name.to_string());
        self.values.get(name).map_or(fallback, String::as_str).to_string()
    }
}

pub fn fail(code: i32, what: &str) -> ! {
    let program = std::env::args().next().unwrap_or_default();
    eprintln!("{program}: {what}");
    std::process::exit(code)
}

/// Ends the run with exit code 1 and `what` on standard error unless `good`.
pub fn check(good: bool, what: &str) {
    if !good {
        fail(1, &format!("wrong result: {what}"));
    }
}

/// The seconds that `work` takes, and its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = Instant::now();
    let result = work();
    (begin.elapsed().as_secs_f64(), result)
}

pub const MONOTONIC: i32 = 1; // a clock of clock_gettime

extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// Seconds on one of the system's clocks; std only provides differences.
pub fn clock(which: i32) -> f64 {
    let mut time = [0; 2];
    let failed = unsafe { clock_gettime(which, &mut time) } != 0;
    check(!failed, "the clock cannot be read");
    time[0] as f64 + time[1] as f64 * 1e-9
}

/// The cores that this process may use.
pub fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One figure in KiB from /proc/self/status: "VmRSS", "VmHWM", "VmPeak".
pub fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Minor and major page faults of the whole process.
fn faults() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program name, in parentheses, may contain spaces: the fields are counted after it.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let field = |i: usize| fields.get(i).and_then(|text| text.parse().ok()).unwrap_or(0);
    (field(7), field(9))
}

fn print(outcome: &Outcome) {
    let mut out = String::new();
    let (minor, major) = faults();
    let _ = write!(
        out,
        "{{\"value\": {:?}, \"seconds\": {:?}, \"checksum\": \"{:016x}\", \"peak_rss_kib\": {}, \
         \"peak_vm_kib\": {}, \"minor_faults\": {}, \"major_faults\": {}",
        outcome.value,
        outcome.seconds,
        outcome.checksum,
        status_kib("VmHWM"),
        status_kib("VmPeak"),
        minor,
        major
    );
    // Names are plain words, and {:?} writes a list of numbers as in JSON.
    let extra: Vec<String> = outcome.extra.iter().map(|(k, v)| format!("\"{k}\": {v:?}")).collect();
    let series: Vec<String> =
        outcome.series.iter().map(|(k, v)| format!("\"{k}\": {v:?}")).collect();
    let _ = write!(out, ", \"extra\": {{{}}}", extra.join(", "));
    println!("{out}, \"series\": {{{}}}}}", series.join(", "));
}

/// The main program of a kernel.
pub fn run(kernel: impl FnOnce(&mut Arguments, &mut Outcome)) {
    let mut arguments = Arguments::from_command_line();
    let mut outcome = Outcome::default();
    kernel(&mut arguments, &mut outcome);
    if let Some(name) = arguments.values.keys().find(|name| !arguments.asked.contains(name)) {
        fail(2, &format!("there is no argument '{name}'"));
    }
    print(&outcome);
}

/// Bodies that wait for each other, as in meeting.hpp.
pub struct Meeting {
    called: Instant,
    patience: Duration,
    expected: usize,
    come: AtomicUsize,
    complete_ns: AtomicU64, // after the call; 0 until then
}

impl Meeting {
    pub fn new(expected: usize, patience: Duration) -> Self {
        let (come, complete_ns) = (AtomicUsize::new(0), AtomicU64::new(0));
        Meeting { called: Instant::now(), patience, expected, come, complete_ns }
    }

    /// Waits until the last has arrived or the patience ends; returns whether all arrived.
    pub fn come(&self) -> bool {
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.expected {
            let time = self.called.elapsed().as_nanos() as u64;
            self.complete_ns.store(time.max(1), Ordering::Release);
        }
        let mut spins = 0u64;
        while self.complete_ns.load(Ordering::Acquire) == 0 {
            spins += 1;
            if spins % 1024 == 0 {
                if self.called.elapsed() > self.patience {
                    return false;
                }
                std::thread::yield_now();
            }
        }
        true
    }

    /// Seconds from the call until all had arrived.
    pub fn seconds(&self) -> f64 {
        self.complete_ns.load(Ordering::Acquire) as f64 * 1e-9
    }
}

extern "C" {
    fn sched_setaffinity(thread: i32, size: usize, mask: *const u64) -> i32;
    fn sched_getaffinity(thread: i32, size: usize, mask: *mut u64) -> i32;
}

/// Seconds in which `body(i)` runs in `count` threads that start together. With no more threads than
/// cores, thread i stays on the i-th usable core, as in harness.hpp.
pub fn in_threads(count: usize, body: impl Fn(usize) + Sync) -> f64 {
    let ready = std::sync::Barrier::new(count + 1);
    let mut begin = Instant::now();
    let usable = usable_set();
    std::thread::scope(|scope| {
        for i in 0..count {
            let (ready, body, usable) = (&ready, &body, &usable);
            scope.spawn(move || {
                if count <= usable.len() {
                    pin(usable[i]);
                }
                ready.wait();
                body(i);
            });
        }
        ready.wait();
        begin = Instant::now();
    });
    begin.elapsed().as_secs_f64()
}

const MASK_WORDS: usize = 16;

fn usable_set() -> Vec<usize> {
    let mut mask = [0u64; MASK_WORDS];
    if unsafe { sched_getaffinity(0, MASK_WORDS * 8, mask.as_mut_ptr()) } < 0 {
        return vec![0];
    }
    (0..MASK_WORDS * 64).filter(|core| mask[core / 64] >> (core % 64) & 1 != 0).collect()
}

fn pin(core: usize) {
    let mut mask = [0u64; MASK_WORDS];
    mask[core / 64] = 1 << (core % 64);
    unsafe { sched_setaffinity(0, MASK_WORDS * 8, mask.as_ptr()) }; // a hint, which may be refused
}

/// As bench::mark_of (marks.hpp): the first number of SplitMix64 with this seed.
pub fn mark_of(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
    z ^ (z >> 31)
}

/// As bench::core_seconds_each (core_time.hpp).
pub fn core_seconds_each(elapsed: f64, threads: usize, operations: u64) -> f64 {
    elapsed * threads.min(usable_cores()) as f64 / operations as f64
}
