// SPDX-License-Identifier: Apache-2.0
// The cost of one fork: the Fibonacci recursion (fibonacci.hpp) without a cut-off consists of forks
// only.
//
// The figure is the core time of the whole run divided by the number of forks. The core time is the
// elapsed time times the number of cores that the threads can use, including idle waiting. The
// serial program's figure is the cost of the bare calls.
#pragma once

#include <algorithm>

#include "../fibonacci/fibonacci.hpp"

namespace fork_cost {

// Every call with n >= 2 forks once; there are fib(n + 1) - 1 such calls.
inline double forks(unsigned n) { return static_cast<double>(fibonacci::by_addition(n + 1) - 1); }

template <typename Compute>
void measure(bench::Arguments& arguments, bench::Result& result, const Compute& compute) {
  fibonacci::measure(arguments, result, compute);
  const unsigned cores = std::min(arguments.threads(), bench::usable_cores());
  const auto n = static_cast<unsigned>(arguments.number("n", 25));
  result.value = result.seconds * 1e9 * cores / forks(n);
}

inline std::vector<bench::Variant> variants() {
  std::vector<bench::Variant> all = bench::four_tricks();
  all.push_back({"tbb", "plain"});  // parallel_invoke
  all.push_back({"tbb", "task_group"});
  return all;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "fork_cost",
      .title = "Cost of a fork",
      .what =
          "The Fibonacci recursion without a cut-off, where every call forks one task and there "
          "is no other work (with the oneTBB interface by parallel_invoke, or by "
          "task_group::run). The figure is core time per fork: elapsed time, times cores in use, "
          "divided by the number of forks; the serial program's figure is that of the bare "
          "calls.",
      .group = "modern scheduler",
      .metric = "core time per fork",
      .unit = "ns",
      .plot = "bars",
      .threads = {1, 2},
      .cases = {{"", "n=26", "n=29", "n=34"}},
      .variants = variants(),
      .run = run,
  };
}

}  // namespace fork_cost
