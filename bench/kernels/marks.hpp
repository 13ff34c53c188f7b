// SPDX-License-Identifier: Apache-2.0
// Marks at both ends of a block, read again before it is freed. They reveal two blocks that overlap
// and a block that was returned twice, and cost a kernel only two cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "harness.hpp"

namespace bench {

// The smallest block that holds a mark.
inline constexpr std::size_t kSmallestMarked = 8;

// A mark whose bytes all depend on the number (SplitMix64's finaliser).
inline std::uint64_t mark_of(std::uint64_t number) { return Random(number).next(); }

// The first eight bytes are the mark, and the last byte is the mark's last byte. In a block of
// eight bytes the two coincide.
inline void put_mark(void* block, std::size_t size, std::uint64_t mark) {
  std::memcpy(block, &mark, sizeof mark);
  static_cast<unsigned char*>(block)[size - 1] = reinterpret_cast<const unsigned char*>(&mark)[7];
}

inline bool has_mark(const void* block, std::size_t size, std::uint64_t mark) {
  std::uint64_t found = 0;
  std::memcpy(&found, block, sizeof found);
  return found == mark && static_cast<const unsigned char*>(block)[size - 1] ==
                              reinterpret_cast<const unsigned char*>(&mark)[7];
}

}  // namespace bench
