// SPDX-License-Identifier: Apache-2.0
// How long after an idle time until all threads are at work: the time from a parallel call to the
// moment when its body runs in every thread at once, 10 ms after the call before it. Include the
// header of a Width before this one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../harness.hpp"

namespace wake_up {

// Each body stays here until the last has come, so that no thread can run two of them.
class Meeting {
 public:
  explicit Meeting(unsigned expected) : expected_(expected) {}

  void come() {
    if (come_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected_) {
      complete_at_.store(bench::now(), std::memory_order_release);
    }
    const double begin = bench::now();
    for (unsigned spins = 1; complete_at_.load(std::memory_order_acquire) == 0; ++spins) {
      if (spins % 1024 != 0) continue;
      // Threads that share a core must let each other run.
      std::this_thread::yield();
      bench::check(bench::now() - begin < 10, "a thread never came");
    }
  }

  double complete_at() const { return complete_at_.load(std::memory_order_acquire); }

 private:
  const unsigned expected_;
  std::atomic<unsigned> come_{0};
  std::atomic<double> complete_at_{0};
};

inline double percentile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

template <typename Width>
void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t calls = arguments.number("calls", 3);
  const unsigned threads = arguments.threads();
  bench::check(calls > 0, "calls= is at least 1");
  Width width(threads);
  width.each(threads, [](std::size_t) {});  // the library starts its threads
  std::vector<double> times;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < calls; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Meeting meeting(threads);
    const double called = bench::now();
    width.each(threads, [&](std::size_t) { meeting.come(); });
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
          "Time from a parallel call until its body runs in both threads at once, when nothing ran "
          "for 10 ms before it. The figure is the median of many calls, p99 their 99th percentile.",
      .group = "modern scheduler",
      .metric = "time until both run",
      .unit = "us",
      .plot = "bars",
      .threads = {2},
      .cases = {{"", "calls=20", "calls=100", "calls=1000"}},
      .run = run,
  };
}

}  // namespace wake_up
