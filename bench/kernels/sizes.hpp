// SPDX-License-Identifier: Apache-2.0
// Sizes like those of real programs: many small, few large. All kernels with "mixed" sizes draw
// from these, so that the word has one meaning.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "harness.hpp"

namespace bench {

// From 9 to 1,024 bytes: one of seven doublings of 8, the lower one of two drawn, and any size in
// it. A quarter is at most 16 bytes, half at most 32, one in fifty above 512; 90 bytes on average.
inline std::size_t skewed_size(Random& random) {
  const std::uint32_t first = random.below(7);
  const std::uint32_t second = random.below(7);
  const std::size_t low = std::size_t{8} << (first < second ? first : second);
  return low + 1 + random.below(static_cast<std::uint32_t>(low));
}

// From `low` to about `high` bytes, each doubling with the same probability.
inline std::size_t doubling_size(Random& random, std::size_t low, std::size_t high) {
  // Without a loop, because some kernels draw in the timed part.
  const int doublings = std::bit_width(high / low) - 1;
  const std::size_t base = low << random.below(static_cast<std::uint32_t>(std::max(doublings, 1)));
  return base + random.below(static_cast<std::uint32_t>(base));
}

}  // namespace bench
