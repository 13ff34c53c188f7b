// SPDX-License-Identifier: Apache-2.0
// The number of parts into which halving cuts a loop, for schedulers that expect a number of parts.
// The others halve their ranges (tbb::blocked_range) until none is longer than the grain size, and
// all should execute the same number of parts.
#pragma once

#include <cstdint>
#include <limits>

#include "harness.hpp"

namespace bench {

// An int, as in OpenMP programs: libomp hands out a loop over 64-bit numbers under a lock.
inline int parts_by_halving(std::uint64_t count, std::uint64_t grain) {
  check(grain > 0, "grain= is at least 1");
  std::uint64_t parts = 1;
  // The parts of one level differ by at most one: the last level may halve only the longer ones.
  while ((count + parts - 1) / parts > grain) {
    parts += count / parts == grain ? count % parts : parts;
  }
  check(parts <= std::uint64_t{std::numeric_limits<int>::max()}, "too many parts");
  return static_cast<int>(parts);
}

// The start of part `part` of `parts`, which is the end of the previous part.
inline std::uint64_t begin_of_part(std::uint64_t count, int part, int parts) {
  return count * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts);
}

}  // namespace bench
