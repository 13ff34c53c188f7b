// SPDX-License-Identifier: Apache-2.0
// Skynet (github.com/atemerev/skynet): a tree in which every task creates ten. Each of the million
// leaves returns its own number; the root returns their sum.
#pragma once

#include "../harness.hpp"

namespace skynet {

using Sum = std::uint64_t;
inline constexpr unsigned kChildren = 10;

// The leaves [first, first + size) below one node.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t size = 1;

  bool is_leaf() const { return size == 1; }
  Part child(unsigned i) const { return {first + i * (size / kChildren), size / kChildren}; }
};

// `sum(part)` adds the numbers of the leaves below one node.
template <typename SumAll>
void measure(bench::Arguments& arguments, bench::Result& result, const SumAll& sum) {
  const std::uint64_t leaves = arguments.number("leaves", 1000);
  std::uint64_t power = 1;
  while (power < leaves) power *= kChildren;
  bench::check(power == leaves, "leaves= is a power of ten");
  sum(Part{0, 100});  // warms the library up
  const double begin = bench::now();
  result.checksum = sum(Part{0, leaves});
  result.seconds = result.value = bench::now() - begin;
  bench::check(result.checksum == leaves * (leaves - 1) / 2, "not the sum of the leaves");
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "skynet",
      .title = "Skynet",
      .what =
          "A tree of tasks in which each creates ten children and adds their results, down to a "
          "million leaves (100,000 in a quick run). The tasks do nothing else, so this is the "
          "cost of creating, stealing and joining them.",
      .group = "modern scheduler",
      .plot = "lines",
      .threads = {1, 2, 4},
      .cases = {{"", "leaves=100000", "leaves=1000000", "leaves=1000000"}},
      .run = run,
  };
}

}  // namespace skynet
