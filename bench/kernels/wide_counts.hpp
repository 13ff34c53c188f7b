// SPDX-License-Identifier: Apache-2.0
// The loads of wide_locked and wide_calls: fine-grained tasks, whose cost on many cores is decided
// by what is counted here. Locked instructions and lines that several threads write cost more the
// more cores there are; process barriers and wake-ups interrupt other cores.
//
// bench/lab/counts counts them from outside. It cannot count the lines that several threads write,
// which takes the processor's own counters, nor failed steals, which only the libraries know.
#pragma once

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fibonacci/fibonacci.hpp"
#include "harness.hpp"

namespace wide {

struct Counts {
  double instructions = 0, locked = 0, barriers = 0, wakes = 0, sleeps = 0;
};

// Calls `work()` between two marks of the counter.
template <typename Work>
Counts counted(const Work& work) {
  const char* const path = std::getenv("BENCH_COUNTS");
  if (path == nullptr) bench::leave_out("it runs under bench/lab/counts only");
  raise(SIGUSR2);
  work();
  raise(SIGUSR2);
  Counts found;
  std::FILE* const file = std::fopen(path, "r");
  bench::check(file != nullptr &&
                   std::fscanf(file, "%lf %lf %lf %lf %lf", &found.instructions, &found.locked,
                               &found.barriers, &found.wakes, &found.sleeps) == 5,
               "there are no counts");
  std::fclose(file);
  return found;
}

// A loop's numbers, added up so that each iteration has something to do.
class Numbers {
 public:
  explicit Numbers(std::size_t count) : found_(count) {}
  std::size_t count() const { return found_.size(); }
  void operator()(std::size_t i) { ++found_[i]; }
  void check(std::uint32_t calls) const {
    for (const std::uint32_t each : found_) bench::check(each == calls, "an iteration is missing");
  }

 private:
  std::vector<std::uint32_t> found_;
};

// The arguments of a load: "fork" and "group" compute the n-th Fibonacci number, the others run a
// loop over n numbers.
struct Load {
  Load(bench::Arguments& arguments, bench::Result& result)
      : how(arguments.text("how", "fork")),
        n(static_cast<unsigned>(arguments.number("n", 10))),
        calls(arguments.number("calls", 1)),
        forks(how == "fork" || how == "group") {
    arguments.text("counted", "");
    bench::check(n > 0 && n < (1U << 20) && calls > 0, "n= and calls= are at least 1");
    result.checksum = n;
  }
  double tasks_of(unsigned size) const {
    return forks ? static_cast<double>(fibonacci::by_addition(size + 1) - 1) : size;
  }
  std::size_t numbers_of(unsigned size) const { return forks ? 0 : size; }

  const std::string how;
  const unsigned n;
  const std::uint64_t calls;
  const bool forks;
};

// The counts of the load's calls with the size `n`. One more call before them warms up.
template <typename Run>
Counts count(const Load& load, unsigned n, const Run& run) {
  Numbers numbers(load.numbers_of(n));
  run(load.how, n, numbers);
  const Counts found = counted([&] {
    for (std::uint64_t i = 0; i < load.calls; ++i) run(load.how, n, numbers);
  });
  numbers.check(static_cast<std::uint32_t>(load.calls + 1));
  return found;
}

// The locked instructions that a task adds: the difference of two sizes.
template <typename Run>
void count_locked(bench::Arguments& arguments, bench::Result& result, const Run& run) {
  const Load load(arguments, result);
  const unsigned more = load.forks ? load.n + 2 : 2 * load.n;
  const double tasks = load.tasks_of(more) - load.tasks_of(load.n);
  const double begin = bench::now();
  const Counts few = count(load, load.n, run);
  const Counts many = count(load, more, run);
  result.seconds = bench::now() - begin;
  result.value = (many.locked - few.locked) / tasks;
  result.extra["instructions"] = (many.instructions - few.instructions) / tasks;
  result.extra["locked, of a call"] = few.locked - result.value * load.tasks_of(load.n);
}

template <typename Run>
void count_calls(bench::Arguments& arguments, bench::Result& result, const Run& run) {
  const Load load(arguments, result);
  const auto calls = static_cast<double>(load.calls);
  const double begin = bench::now();
  const Counts found = count(load, load.n, run);
  result.seconds = bench::now() - begin;
  result.value = found.wakes / calls;
  result.extra["sleeps"] = found.sleeps / calls;
  result.extra["process barriers"] = found.barriers / calls;
}

inline std::vector<bench::Case> counted_cases(const std::string& more, const std::string& fork,
                                              const std::string& loop) {
  const auto one = [&](const std::string& label, const std::string& words,
                       std::vector<std::string> apis = {}) {
    const std::string all = words + " " + more;
    return bench::Case{
        .label = label, .quick = all, .normal = all, .full = all, .apis = std::move(apis)};
  };
  return {one("parallel_invoke", "how=fork n=" + fork),
          one("task_group", "how=group n=" + fork, {"tbb"}),
          one("for, grain 1", "how=for n=" + loop), one("for, auto", "how=auto n=" + loop),
          one("for_each", "how=each n=" + loop, {"tbb", "rayon"})};
}

inline bench::Kernel locked_description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wide_locked",
      .title = "Many threads: locked instructions of a task",
      .what =
          "Locked instructions and full fences of one task that no thread steals: of a fork in a "
          "recursion, or of one iteration of a loop. They are counted step by step on one thread, "
          "with two numbers of tasks, and the difference leaves out what a call costs once.",
      .group = "modern scheduler",
      .metric = "locked instructions",
      .unit = "/task",
      .plot = "wide",
      .watches = true,
      .threads = {1},
      .cases = counted_cases("counted=locked", "6", "64"),
      .run = run,
  };
}

inline bench::Kernel calls_description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wide_calls",
      .title = "Many threads: wake-ups of a call",
      .what =
          "System calls of one parallel call with fine-grained tasks, one call after another: "
          "threads "
          "woken, and as further figures threads that went to sleep and process barriers. The "
          "counter stops the program at each of them for some microseconds.",
      .group = "modern scheduler",
      .metric = "wake-ups",
      .unit = "/call",
      .plot = "wide",
      .watches = true,
      .threads = {2, 8, 32},
      .brief_threads = {32},
      .cases = counted_cases("calls=50 counted=calls", "14", "10000"),
      .run = run,
  };
}

}  // namespace wide
