// SPDX-License-Identifier: Apache-2.0
// Sizes as programs ask for them: many small, few large. What the kernels that need "mixed" sizes
// draw from, so that the word means the same in all of them.
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

// From `low` to about `high` bytes, each doubling as likely as the others.
inline std::size_t doubling_size(Random& random, std::size_t low, std::size_t high) {
  // Without a loop: some kernels draw while the clock runs.
  const int doublings = std::bit_width(high / low) - 1;
  const std::size_t base = low << random.below(static_cast<std::uint32_t>(std::max(doublings, 1)));
  return base + random.below(static_cast<std::uint32_t>(base));
}

}  // namespace bench
