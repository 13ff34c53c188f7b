// SPDX-License-Identifier: Apache-2.0
// The n-th Fibonacci number by the recursion of the 2007 article (figure 6), where every call above
// the cut-off is a task that forks. The first three classic variants spawn both children; all other
// programs compute one branch themselves.
#pragma once

#include "../classic_tricks.hpp"
#include "../harness.hpp"

namespace fibonacci {

// The optimised serial program, also used below the cut-off. One of the two calls is a hand-written
// loop, and the function is not inlined: GCC would unroll the recursion many levels deep and other
// compilers would not, so that the figures would compare compilers.
[[gnu::noinline]] inline std::uint64_t serial(unsigned n) {
  std::uint64_t sum = 0;
  for (; n >= 2; n -= 2) sum += serial(n - 1);
  return sum + n;
}

inline std::uint64_t below_cutoff(unsigned n) { return n < 2 ? n : serial(n); }

// The same number without recursion, to check the others.
inline std::uint64_t by_addition(unsigned n) {
  std::uint64_t a = 0, b = 1;
  for (; n > 0; --n) {
    const std::uint64_t next = a + b;
    a = b;
    b = next;
  }
  return a;
}

// Runs `compute(n, cutoff)` once to warm the library up and once timed.
template <typename Compute>
void measure(bench::Arguments& arguments, bench::Result& result, const Compute& compute) {
  const auto n = static_cast<unsigned>(arguments.number("n", 25));
  const auto cutoff = static_cast<unsigned>(arguments.number("cutoff", 2));
  bench::check(n <= 90 && cutoff >= 2, "n= is at most 90, cutoff= at least 2");
  compute(n < 12 ? n : 12, 2);
  const double begin = bench::now();
  result.checksum = compute(n, cutoff);
  result.seconds = result.value = bench::now() - begin;
  bench::check(result.checksum == by_addition(n), "not the Fibonacci number");
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "fibonacci",
      .title = "Fibonacci",
      .what =
          "A Fibonacci number by recursion: each call above the cut-off forks a task, and below "
          "it the serial program runs. A full run computes the 50th number, as the founding "
          "article did; without a cut-off there are only forks, so the number is always smaller.",
      .group = "seed scheduler",
      .figure = "Figure 6",
      .plot = "speedup",
      .threads = {1, 2, 4, 8},
      .cases = {{"no cut-off", "n=27 cutoff=2", "n=29 cutoff=2", "n=34 cutoff=2"},
                {"cut-off 12", "n=35 cutoff=12", "n=40 cutoff=12", "n=50 cutoff=12"},
                {"cut-off 20", "n=36 cutoff=20", "n=40 cutoff=20", "n=50 cutoff=20"}},
      .variants = bench::four_tricks(),
      .run = run,
  };
}

}  // namespace fibonacci
