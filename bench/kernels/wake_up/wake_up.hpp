// SPDX-License-Identifier: Apache-2.0
// The time until all threads work after an idle period: from a parallel call until its body runs in
// every thread at once. Before the call the caller sleeps for 10 ms, or is busy with other work for
// 50 us, as in a serial part between two loops.
// Include the header of a Width before this one.
//
// "bare futex" is the time of the system alone, in the same process with the same pauses: a thread
// that sleeps in a futex is woken, and both threads meet. It is measured first, before any
// scheduler has threads.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "../harness.hpp"
#include "../meeting.hpp"

namespace wake_up {

inline double percentile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

inline void pause(std::uint64_t pause_us) {
  if (pause_us >= 1000) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    return;
  }
  const double end = bench::now() + static_cast<double>(pause_us) * 1e-6;
  while (bench::now() < end) {
  }
}

// A thread that sleeps in a futex between the calls.
class Sleeper {
 public:
  Sleeper() : thread_([this] { run(); }) {}
  ~Sleeper() {
    wake(nullptr);
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Sends the thread to the meeting; nullptr ends it.
  void wake(bench::Meeting* meeting) {
    meeting_ = meeting;
    word_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::uint32_t* address() { return reinterpret_cast<std::uint32_t*>(&word_); }

  void run() {
    for (std::uint32_t seen = 0;; ++seen) {
      while (word_.load(std::memory_order_acquire) == seen) {
        syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      }
      if (meeting_ == nullptr) return;
      meeting_->come();
    }
  }

  std::atomic<std::uint32_t> word_{0};
  bench::Meeting* meeting_ = nullptr;
  std::thread thread_;  // the last member, because it uses the others
};

// The median of `calls`.
inline double bare_futex(std::uint64_t calls, std::uint64_t pause_us) {
  std::vector<double> times;
  // They must outlive the thread, which may leave a meeting after its caller.
  std::vector<std::unique_ptr<bench::Meeting>> meetings;
  Sleeper sleeper;
  for (std::uint64_t i = 0; i < calls; ++i) {
    pause(pause_us);
    bench::Meeting& meeting = *meetings.emplace_back(std::make_unique<bench::Meeting>(2, 10.0));
    const double called = bench::now();
    sleeper.wake(&meeting);
    bench::check(meeting.come(), "a thread never came");
    times.push_back((meeting.complete_at() - called) * 1e6);
  }
  std::sort(times.begin(), times.end());
  return percentile(times, 0.5);
}

template <typename Width>
void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t calls = arguments.number("calls", 3);
  const std::uint64_t pause_us = arguments.number("pause_us", 10000);
  const unsigned threads = arguments.threads();
  bench::check(calls > 0, "calls= is at least 1");
  if (threads > 1) result.extra["bare futex"] = bare_futex(calls, pause_us);
  Width width(threads);
  std::vector<double> times;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < calls; ++i) {
    pause(pause_us);
    bench::Meeting meeting(threads, 10);
    const double called = bench::now();
    width.each(threads, [&](std::size_t) { bench::check(meeting.come(), "a thread never came"); });
    times.push_back((meeting.complete_at() - called) * 1e6);
  }
  result.seconds = bench::now() - begin;
  std::sort(times.begin(), times.end());
  result.value = percentile(times, 0.5);
  result.extra["p99"] = percentile(times, 0.99);
  result.checksum = times.size();
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wake_up",
      .title = "Waking up",
      .what =
          "Time from a parallel call until its body runs in both threads at once, when the "
          "caller slept for 10 ms before it, or did other work for 50 us. The figure is the "
          "median of many calls, and p99 their 99th percentile; bare futex is the time that the "
          "system needs to wake one thread, measured in the same run.",
      .group = "modern scheduler",
      .metric = "time until both run",
      .unit = "us",
      .plot = "bars",
      .threads = {2},
      .cases = {{"after 10 ms", "calls=12 pause_us=10000", "calls=50 pause_us=10000",
                 "calls=1000 pause_us=10000"},
                {"after 50 us", "calls=500 pause_us=50", "calls=5000 pause_us=50",
                 "calls=50000 pause_us=50"}},
      .run = run,
  };
}

}  // namespace wake_up
