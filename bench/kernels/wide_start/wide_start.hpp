// SPDX-License-Identifier: Apache-2.0
// The ramp-up: the time from a call until the last of its bodies has begun, where there are as many
// bodies as threads and each sleeps. A body that waits for another one to end counts, too: then a
// thread has run two, and the ramp-up is longer than a body. The call comes after a pause, in which
// all threads fall asleep, or right after the previous call, whose threads may still poll.
// Include the header of wide::Loop before this one.
#pragma once

#include "../wide_loops.hpp"

namespace wide {

template <typename Loop>
void start(bench::Arguments& arguments, bench::Result& result) {
  const auto us = static_cast<std::uint32_t>(arguments.number("us", 10000));
  const auto pause_us = static_cast<std::uint32_t>(arguments.number("pause_us", 0));
  const std::uint64_t calls = arguments.number("calls", 5);
  const std::string how = arguments.text("how", "simple");
  const unsigned threads = arguments.threads();
  bench::check(calls > 0, "calls= is at least 1");
  Loop loop(threads);
  const Bodies bodies(std::vector<std::uint32_t>(threads, us));
  std::vector<double> last;
  for (std::uint64_t i = 0; i <= calls; ++i) {
    sleep_us(pause_us);
    std::vector<double> began(threads);
    bodies.note_begin(began.data());
    const double called = bench::now();
    loop(how, bodies);
    result.seconds += bench::now() - called;
    const auto [first, latest] = std::minmax_element(began.begin(), began.end());
    bench::check(*first >= called, "a body was not called");
    // The first call warms up what follows it.
    if (i > 0) last.push_back((*latest - called) * 1e6);
  }
  std::sort(last.begin(), last.end());
  result.value = last[last.size() / 2];
  result.extra["worst"] = last.back();
  result.checksum = last.size();
}

inline bench::Kernel start_description(void (*run)(bench::Arguments&, bench::Result&)) {
  const auto one = [](const std::string& label, const std::string& how) {
    return bench::Case{.label = label,
                       .quick = how + " us=10000 calls=7",
                       .normal = how + " us=20000 calls=31",
                       .full = how + " us=100000 calls=101"};
  };
  return {
      .name = "wide_start",
      .title = "Many threads: ramp-up",
      .what =
          "Time from a call with as many bodies as threads until the last body has begun, where "
          "each "
          "body sleeps for 10 ms, and longer in larger sizes. Before the call all threads sleep "
          "(idle), or have just ended the previous call and may still poll (busy).",
      .group = "modern scheduler",
      .metric = "time until the last body begins",
      .unit = "us",
      .plot = "wide",
      .watches = true,
      .threads = {8, 32},
      .brief_threads = kBriefThreads,
      .cases = {one("for, idle", "how=simple pause_us=5000"), one("for, busy", "how=simple"),
                one("for auto, idle", "how=auto pause_us=5000"), one("for auto, busy", "how=auto"),
                one("task_group, idle", "how=group pause_us=5000"),
                one("task_group, busy", "how=group"),
                one("parallel_invoke, idle", "how=invoke pause_us=5000"),
                one("parallel_invoke, busy", "how=invoke")},
      .run = run,
  };
}

}  // namespace wide
