// SPDX-License-Identifier: Apache-2.0
// A loop of two iterations, called repeatedly: the cost of a call that is hardly worth it, while
// the threads have no time to fall asleep.
//
// The body is an empty assembler statement. The same calls are first made with a body that counts,
// which is not timed.
#pragma once

#include <atomic>

#include "../harness.hpp"

namespace small_call {

inline constexpr int kIterations = 2;

// `loop(body)` calls body(i) for each i in [0, kIterations), as the library does by default, and
// `inside(work)` calls work() in the scope of the library's threads.
template <typename Inside, typename Loop>
void measure(bench::Arguments& arguments, bench::Result& result, const Inside& inside,
             const Loop& loop) {
  const std::uint64_t calls = arguments.number("calls", 1000);
  bench::check(calls > 0, "calls= is at least 1");
  std::atomic<std::uint64_t> bodies{0}, sum{0};
  const std::uint64_t counted = calls < 1000 ? calls : 1000;
  inside([&] {
    for (std::uint64_t i = 0; i < counted; ++i) {
      loop([&](int iteration) {
        bodies.fetch_add(1, std::memory_order_relaxed);
        sum.fetch_add(static_cast<std::uint64_t>(iteration), std::memory_order_relaxed);
      });
    }
    return 0;
  });
  bench::check(bodies.load(std::memory_order_relaxed) == kIterations * counted &&
                   sum.load(std::memory_order_relaxed) == counted,
               "an iteration was left out or done twice");
  result.seconds = inside([&] {
    const double begin = bench::now();
    for (std::uint64_t i = 0; i < calls; ++i) loop([](int) { asm volatile(""); });
    return bench::now() - begin;
  });
  result.value = result.seconds * 1e9 / static_cast<double>(calls);
  result.checksum = calls;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "small_call",
      .title = "Call with two iterations",
      .what =
          "Time of a parallel loop with two iterations and an empty body, called repeatedly "
          "without a pause. The serial program's figure is that of its bare loop.",
      .group = "modern scheduler",
      .metric = "time per call",
      .unit = "ns",
      .plot = "bars",
      .threads = {1, 2},
      .cases = {{"", "calls=20000", "calls=200000", "calls=2000000"}},
      .run = run,
  };
}

}  // namespace small_call
