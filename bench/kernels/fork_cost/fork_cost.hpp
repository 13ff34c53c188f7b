// SPDX-License-Identifier: Apache-2.0
// What one fork costs: the Fibonacci recursion (fibonacci.hpp) without cut-off is nothing but
// forks.
//
// The figure is the core time of the whole run divided by the number of forks: elapsed time times
// the number of cores that the threads can occupy at once, idle waiting included, nothing
// subtracted. The serial program's figure is what the bare calls cost.
#pragma once

#include <algorithm>

#include "../fibonacci/fibonacci.hpp"

namespace fork_cost {

// Every call with n >= 2 forks once, and there are fib(n + 1) - 1 of those.
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
          "The Fibonacci recursion without any cut-off, where every call forks one task and there "
          "is no other work (with the oneTBB interface by parallel_invoke, or by task_group::run). "
          "The figure is core time per fork, that is elapsed time by cores in use by number of "
          "forks, and the serial program's is that of the bare calls.",
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
