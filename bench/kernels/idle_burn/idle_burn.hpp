// SPDX-License-Identifier: Apache-2.0
// The cost of idle workers: the CPU time that the process uses while its only busy thread
// sleeps, right after a parallel loop. Include the header of a Width before this one.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "../harness.hpp"

namespace idle_burn {

// The sum of the threads' clocks. The clock of the process misses the time since the last tick of
// each thread that is running, which is up to 4 ms.
inline double processor_seconds() {
  double sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int thread = std::stoi(entry.path().filename());
    // The kernel's encoding of a thread's clock, which clock_getcpuclockid(3) does not provide.
    constexpr unsigned kOfThread = 4, kPrecise = 2;
    const auto clock =
        static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | kOfThread | kPrecise);
    timespec time{};
    if (clock_gettime(clock, &time) != 0) continue;  // the thread has ended
    sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return sum;
}

template <typename Width>
void run(bench::Arguments& arguments, bench::Result& result) {
  constexpr std::size_t kParts = 64;
  constexpr unsigned kIterations = 300'000;  // of an empty loop: a fraction of a millisecond
  const std::uint64_t sleep_ms = arguments.number("sleep_ms", 10);
  Width width(arguments.threads());
  std::atomic<std::uint64_t> done{0};
  width.each(kParts, [&](std::size_t) {
    for (unsigned i = 0; i < kIterations; ++i) asm volatile("");
    done.fetch_add(1, std::memory_order_relaxed);
  });
  const double begin = bench::now(), before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(sleep_ms));
  result.value = (processor_seconds() - before) * 1e6;
  result.seconds = bench::now() - begin;
  result.checksum = done.load(std::memory_order_relaxed);
  bench::check(result.checksum == kParts, "a part was left out or done twice");
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "idle_burn",
      .title = "Idle workers",
      .what =
          "CPU time that the process uses while its main thread sleeps for two seconds (half a "
          "second in a quick run) right after a parallel loop. Idle workers spend it on looking "
          "for work before they go to sleep, and on waking up needlessly.",
      .group = "modern scheduler",
      .metric = "processor time",
      .unit = "us",
      .plot = "bars",
      .threads = {2},
      .cases = {{"", "sleep_ms=500", "sleep_ms=2000", "sleep_ms=2000"}},
      .run = run,
  };
}

}  // namespace idle_burn
