// SPDX-License-Identifier: Apache-2.0
//! Submit and go on with rayon's scope; submit.hpp says what is measured. The bare futex is in the
//! other programs.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[path = "../harness.rs"]
mod harness;

extern "C" {
    fn sched_getcpu() -> i32;
}

fn core() -> i32 {
    unsafe { sched_getcpu() }
}

fn work_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {}
}

#[derive(Default)]
struct Task {
    started_ns: AtomicU64,
    core: AtomicI32,
}

fn main() {
    harness::run(|arguments, outcome| {
        let count = arguments.number("count", 100) as usize;
        let gap = Duration::from_micros(arguments.number("gap_us", 300));
        let time = Duration::from_micros(arguments.number("task_us", 50));
        harness::check(count > 0, "count= is at least 1");
        let pool = harness::pool(arguments.threads);
        let tasks: Vec<Task> = (0..count).map(|_| Task::default()).collect();
        let begin = Instant::now();
        let submitted: Vec<(u64, i32)> = pool.in_place_scope(|scope| {
            let submit = |task| {
                let now = (begin.elapsed().as_nanos() as u64, core());
                let run = move |task: &Task| {
                    task.started_ns.store(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
                    task.core.store(core(), Ordering::Relaxed);
                    work_for(time);
                };
                scope.spawn(move |_| run(task));
                work_for(gap);
                now
            };
            tasks.iter().map(submit).collect()
        });
        outcome.seconds = begin.elapsed().as_secs_f64();
        let pairs = || tasks.iter().zip(&submitted);
        let started = |task: &Task| task.started_ns.load(Ordering::Relaxed);
        let late = |task: &Task, at: u64| (started(task) as f64 - at as f64) * 1e-3;
        let mut delays: Vec<f64> = pairs().map(|(task, &(at, _))| late(task, at)).collect();
        delays.sort_by(f64::total_cmp);
        harness::check(delays[0] >= 0.0, "a task did not run");
        let same = pairs().filter(|(task, (_, on))| task.core.load(Ordering::Relaxed) == *on);
        let share = 100.0 * same.count() as f64 / count as f64;
        outcome.value = delays[count / 2];
        outcome.extra.insert("p99".to_string(), delays[count * 99 / 100]);
        outcome.extra.insert("submitter's core, %".to_string(), share);
        outcome.checksum = count as u64;
    });
}
