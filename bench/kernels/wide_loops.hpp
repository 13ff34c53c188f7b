// SPDX-License-Identifier: Apache-2.0
// The loops of wide_even and wide_uneven: what they run, and the algorithms that run it.
//
// A sort is not among the algorithms: a comparison that sleeps is no work that occurs, and the loop
// inside a sort is a recursion of tasks, which wide_nested has.
#pragma once

#include "wide.hpp"

namespace wide {

struct Algorithm {
  std::string how;    // the argument
  std::string label;  // of the case
  std::vector<std::string> apis;
  bool adapts = true;  // to bodies of different length
};

inline const std::vector<Algorithm>& algorithms() {
  static const std::vector<std::string> kTbb = {"tbb"};
  static const std::vector<std::string> kTbbOpenMp = {"tbb", "openmp"};
  static const std::vector<Algorithm> kAll = {
      {"auto", "for, auto", {}},
      {"simple", "for, simple", {}},
      {"static", "for, static", kTbbOpenMp, /*adapts=*/false},
      {"affinity", "for, affinity", kTbb},
      {"reduce", "reduce", {}},
      {"deterministic", "deterministic reduce", kTbb},
      {"scan", "scan", kTbb},
      {"each", "for_each, random access", {"tbb", "rayon"}},
      {"forward", "for_each, forward", kTbbOpenMp},
      {"input", "for_each, input", {"tbb", "rayon"}},
      {"feeder", "for_each, feeder", {}},
      {"2d", "2d range", kTbbOpenMp},
      {"3d", "3d range", kTbbOpenMp},
      {"nd", "nd range", kTbb},
      {"own", "own range", {"tbb", "rayon"}},
      {"std", "std::for_each, par", kTbb},
      {"group", "task_group", {}},
      {"invoke", "parallel_invoke", {}},
  };
  return kAll;
}

// A scan on p threads visits most bodies twice and takes at least 2 / (p + 1) of the work (M. Snir,
// Depth-size trade-offs for parallel prefix computation, 1986); the last body begins its final
// visit after all others have been visited.
inline Bounds bounds_of(const std::vector<std::uint32_t>& us, const std::string& how,
                        unsigned threads) {
  const Bodies bodies(us);
  if (how != "scan" || us.size() < 2) return {bodies.work(), bodies.longest()};
  const std::vector<std::uint32_t> others(us.begin(), us.end() - 1);
  return {bodies.work() * 2 * threads / (threads + 1), Bodies(others).longest() + us.back() * 1e-6};
}

// The loops with bodies of one length: as many as threads, and four times as many.
template <typename Call>
void even(bench::Arguments& arguments, bench::Result& result, Call& call) {
  const auto us = static_cast<std::uint32_t>(arguments.number("us", 10000));
  const std::uint64_t calls = arguments.number("calls", 1);
  const std::string how = arguments.text("how", "simple");
  const unsigned threads = arguments.threads();
  Ratios ratios(threads);
  for (const unsigned each : {1U, 4U}) {
    // Shorter ones where there are more, so that a run is not.
    const std::vector<std::uint32_t> bodies(std::size_t{each} * threads, each == 1 ? us : us / 2);
    const double seconds = time_calls(bodies, calls, [&](const Bodies& b) { call(how, b); });
    ratios.add(each == 1 ? "one a thread" : "four a thread", bounds_of(bodies, how, threads),
               seconds);
  }
  ratios.report(result);
}

// The loops with bodies of different lengths.
template <typename Call>
void uneven(bench::Arguments& arguments, bench::Result& result, Call& call) {
  const auto us = static_cast<std::uint32_t>(arguments.number("us", 2000));
  const std::uint64_t calls = arguments.number("calls", 1);
  const std::uint64_t places = arguments.number("places", 3);
  const std::string how = arguments.text("how", "simple");
  const unsigned threads = arguments.threads();
  bench::check(places >= 2, "places= is at least 2");
  Ratios ratios(threads);
  const auto add = [&](const char* name, const std::vector<std::uint32_t>& bodies) {
    const double seconds = time_calls(bodies, calls, [&](const Bodies& b) { call(how, b); });
    ratios.add(name, bounds_of(bodies, how, threads), seconds);
  };
  const std::size_t count = std::size_t{4} * threads;
  bench::Random random(1);
  std::vector<std::uint32_t> bodies(count);
  for (std::uint32_t& one : bodies) one = random.below(2 * us);
  add("uniform", bodies);
  for (std::uint32_t& one : bodies) {
    const double uniform = (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
    one = static_cast<std::uint32_t>(-std::log(uniform) * us);
  }
  add("exponential", bodies);
  // One body three times as long as the others, of which each thread has two: it alone is the
  // bound, which is reached only if its thread has no other body.
  const std::size_t pairs = std::size_t{2} * threads;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(places, pairs); ++i) {
    bodies.assign(pairs, us);
    bodies[(pairs - 1) * i / (std::min<std::uint64_t>(places, pairs) - 1)] = 3 * us;
    add(i == 0 ? "heavy first" : "heavy elsewhere", bodies);
  }
  ratios.report(result);
}

inline std::vector<bench::Case> cases(bool uneven, const std::string& quick,
                                      const std::string& normal, const std::string& full) {
  std::vector<bench::Case> found;
  for (const Algorithm& one : algorithms()) {
    if (uneven && !one.adapts) continue;
    const std::string how = "how=" + one.how + " ";
    found.push_back({.label = one.label,
                     .quick = how + quick,
                     .normal = how + normal,
                     .full = how + full,
                     .apis = one.apis});
  }
  return found;
}

inline bench::Kernel even_description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wide_even",
      .title = "Many threads, even bodies",
      .what =
          "A loop over bodies that sleep equally long, as many as there are threads or four times "
          "as many, so that two cores show how many threads get work. The figure is the time "
          "divided by the greedy bound, which is the work divided by the threads; the worse of "
          "both loops counts.",
      .group = "modern scheduler",
      .metric = "time ÷ greedy bound",
      .unit = "x",
      .plot = "wide",
      .watches = true,
      .threads = kThreads,
      .brief_threads = kBriefThreads,
      .cases = cases(false, "us=10000 calls=3", "us=20000 calls=5", "us=100000 calls=5"),
      .run = run,
  };
}

inline bench::Kernel uneven_description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wide_uneven",
      .title = "Many threads, uneven bodies",
      .what =
          "A loop over bodies that sleep, four to a thread with uniform or exponential lengths, or "
          "two to a thread with one three times as long at the first or at another place. The "
          "figure is the time divided by the greedy bound, which is the work divided by the "
          "threads or the longest body; the worst loop counts, and no order of the bodies is known "
          "in advance that reaches 1 in all of them.",
      .group = "modern scheduler",
      .metric = "time ÷ greedy bound",
      .unit = "x",
      .plot = "wide",
      .watches = true,
      .threads = kThreads,
      .brief_threads = kBriefThreads,
      .cases = cases(true, "us=3000 calls=1 places=3", "us=5000 calls=3 places=5",
                     "us=20000 calls=3 places=1000"),
      .run = run,
  };
}

}  // namespace wide
