// SPDX-License-Identifier: Apache-2.0
// Into how many parts halving cuts a loop, for schedulers that take a number of parts: the others
// halve their ranges (tbb::blocked_range) until none is longer than the grain size, and all should
// hand out as many parts.
#pragma once

#include <cstdint>
#include <limits>

#include "harness.hpp"

namespace bench {

// An int, as OpenMP programs have it: libomp hands out a loop over 64-bit numbers under a lock.
inline int parts_by_halving(std::uint64_t count, std::uint64_t grain) {
  check(grain > 0, "grain= is at least 1");
  std::uint64_t parts = 1;
  // The parts of one level differ by one at most: the last level may halve only the longer ones.
  while ((count + parts - 1) / parts > grain) {
    parts += count / parts == grain ? count % parts : parts;
  }
  check(parts <= std::uint64_t{std::numeric_limits<int>::max()}, "too many parts");
  return static_cast<int>(parts);
}

// Where part `part` of `parts` begins; the part after it begins at its end.
inline std::uint64_t begin_of_part(std::uint64_t count, int part, int parts) {
  return count * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts);
}

}  // namespace bench
