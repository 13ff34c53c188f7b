// SPDX-License-Identifier: Apache-2.0
// A thread that submits a task and goes on working: when does the task start, and on which core?
// The scheduler wakes another thread for it; the system chooses the core of that thread, and may
// choose the submitter's, where the task waits for the submitter.
//
// "bare futex" is the same with two threads and no scheduler: a thread that sleeps in a futex is
// woken for each task. docs/bench/wide.md says what the system does.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../harness.hpp"

namespace submit {

inline void work_for(double seconds) {
  const double end = bench::now() + seconds;
  while (bench::now() < end) {
  }
}

// The tasks of one run. Each works for a while.
class Tasks {
 public:
  Tasks(std::size_t count, double seconds) : seconds_(seconds), tasks_(count) {}

  // The body of the i-th task.
  void operator()(std::size_t i) {
    tasks_[i].started = bench::now();
    tasks_[i].core = sched_getcpu();
    work_for(seconds_);
    done_.fetch_add(1, std::memory_order_release);
  }

  // Submits all by `submit(i)`, and works for `gap` seconds after each.
  template <typename Submit>
  void run(double gap, const Submit& submit) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].submitter = sched_getcpu();
      tasks_[i].submitted = bench::now();
      submit(i);
      work_for(gap);
    }
    while (done_.load(std::memory_order_acquire) != tasks_.size()) std::this_thread::yield();
  }

  // The times until the tasks started, in microseconds, rising.
  std::vector<double> delays() const {
    std::vector<double> found;
    for (const Task& task : tasks_) {
      bench::check(task.started >= task.submitted, "a task did not run");
      found.push_back((task.started - task.submitted) * 1e6);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // The share of the tasks that started on the core that the submitter was on, in per cent.
  double share_on_submitters_core() const {
    const auto same = std::count_if(tasks_.begin(), tasks_.end(),
                                    [](const Task& task) { return task.core == task.submitter; });
    return 100.0 * static_cast<double>(same) / static_cast<double>(tasks_.size());
  }

 private:
  struct Task {
    double submitted = 0, started = 0;
    int submitter = 0, core = 0;
  };

  const double seconds_;
  std::vector<Task> tasks_;
  std::atomic<std::size_t> done_{0};
};

inline void report(const Tasks& tasks, const std::string& prefix, bench::Result& result) {
  const std::vector<double> delays = tasks.delays();
  if (prefix.empty()) result.value = delays[delays.size() / 2];
  if (!prefix.empty()) result.extra[prefix + "p50"] = delays[delays.size() / 2];
  result.extra[prefix + "p99"] = delays[delays.size() * 99 / 100];
  result.extra[prefix + "submitter's core, %"] = tasks.share_on_submitters_core();
}

inline void bare_futex(Tasks& tasks, std::size_t count, double gap) {
  std::atomic<std::uint32_t> submitted{0};
  const auto address = [&] { return reinterpret_cast<std::uint32_t*>(&submitted); };
  std::thread worker([&] {
    for (std::uint32_t next = 0; next < count; ++next) {
      while (submitted.load(std::memory_order_acquire) <= next) {
        syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, next, nullptr, nullptr, 0);
      }
      tasks(next);
    }
  });
  tasks.run(gap, [&](std::size_t) {
    submitted.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  });
  worker.join();
}

// `call(tasks, gap)` runs the tasks with a scheduler.
template <typename Call>
void measure(bench::Arguments& arguments, bench::Result& result, const Call& call) {
  const std::uint64_t count = arguments.number("count", 100);
  const double gap = static_cast<double>(arguments.number("gap_us", 300)) * 1e-6;
  const double seconds = static_cast<double>(arguments.number("task_us", 50)) * 1e-6;
  bench::check(count > 0, "count= is at least 1");
  if (arguments.threads() > 1) {
    Tasks bare(count, seconds);
    bare_futex(bare, count, gap);
    report(bare, "bare futex, ", result);
  }
  Tasks tasks(count, seconds);
  const double begin = bench::now();
  call(tasks, gap);
  result.seconds = bench::now() - begin;
  report(tasks, "", result);
  result.checksum = count;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "submit",
      .title = "Submit and go on",
      .what =
          "A thread submits a task of 50 us every 0.3 or 1 ms and works in between, so another "
          "thread must run the task. The figure is the median time until a task starts; the share "
          "of the tasks that start on the submitter's own core shows where the system puts the "
          "woken thread, with a bare futex in the same run, too.",
      .group = "modern scheduler",
      .metric = "time until a task starts",
      .unit = "us",
      .plot = "bars",
      .threads = {2},
      .cases = {{"every 0.3 ms", "count=200 gap_us=300", "count=1500 gap_us=300",
                 "count=10000 gap_us=300"},
                {"every 1 ms", "count=60 gap_us=1000", "count=500 gap_us=1000",
                 "count=5000 gap_us=1000"}},
      .variants = {{"tbb", "plain"}, {"tbb", "task_group"}},
      .run = run,
  };
}

}  // namespace submit
