// SPDX-License-Identifier: Apache-2.0
// tree_sum without a scheduler: the base of the speed-ups. It has no cut-off.
#include "serial_repeats.hpp"
#include "tree_sum.hpp"

namespace {

tree_sum::Program prepare(bench::Arguments&) {
  return {
      [](std::uint32_t nodes, std::uint32_t) { return tree_sum::generate({0, nodes}); },
      [](const tree_sum::Node* tree, std::uint32_t) { return tree_sum::sum(tree); },
      bench::kLeastSerialSeconds,
  };
}

}  // namespace

const bench::Kernel bench::kernel = tree_sum::kernel(prepare);
