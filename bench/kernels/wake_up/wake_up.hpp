// SPDX-License-Identifier: Apache-2.0
// How long after an idle time until all threads are at work: the time from a parallel call to the
// moment when its body runs in every thread at once, 10 ms after the call before it. Include the
// header of a Width before this one.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "../harness.hpp"
#include "../meeting.hpp"

namespace wake_up {

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
  std::vector<double> times;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < calls; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
