// SPDX-License-Identifier: Apache-2.0
//! Start-up with rayon; start_up.hpp says what is measured.

use harness::{Arguments, Outcome};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "../harness.rs"]
mod harness;

fn figure(json: &str, name: &str) -> f64 {
    let (_, rest) = json.split_once(&format!("\"{name}\": ")).unwrap_or(("", ""));
    let end = rest.find([',', '}']).unwrap_or(0);
    let value = rest[..end].parse();
    harness::check(value.is_ok(), "the child did not say");
    value.unwrap_or(0.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The short program. `asked` is the parent's clock when it requested this process.
fn first_call(threads: usize, asked: f64, outcome: &mut Outcome) {
    let begin = harness::clock(harness::MONOTONIC);
    let pool = harness::cold_pool(threads);
    let bodies = AtomicUsize::new(0);
    pool.install(|| {
        harness::each(threads, || {
            bodies.fetch_add(1, Ordering::Relaxed);
        });
    });
    let end = harness::clock(harness::MONOTONIC);
    harness::check(bodies.into_inner() == threads, "a body was left out or run twice");
    outcome.value = (end - begin) * 1e6;
    outcome.extra.insert("from exec".to_string(), (end - asked) * 1e6);
}

fn run(arguments: &mut Arguments, outcome: &mut Outcome) {
    let threads = arguments.threads;
    let children = arguments.number("children", 2);
    let asked_ns = arguments.number("asked_ns", 0);
    if asked_ns != 0 {
        return first_call(threads, asked_ns as f64 * 1e-9, outcome);
    }
    harness::check(children > 0, "children= is at least 1");
    let (mut from_main, mut from_exec) = (Vec::new(), Vec::new());
    let (seconds, ()) = harness::timed(|| {
        for _ in 0..children {
            let now_ns = (harness::clock(harness::MONOTONIC) * 1e9) as u64;
            let child = Command::new("/proc/self/exe")
                .args([format!("threads={threads}"), format!("asked_ns={now_ns}")])
                .output();
            let text = child.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
            let text = text.unwrap_or_default();
            from_main.push(figure(&text, "value"));
            from_exec.push(figure(&text, "from exec"));
        }
    });
    outcome.seconds = seconds;
    outcome.value = median(from_main);
    outcome.extra.insert("from exec".to_string(), median(from_exec));
    outcome.checksum = children;
}

fn main() {
    harness::run(run);
}
