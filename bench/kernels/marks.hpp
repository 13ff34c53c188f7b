// SPDX-License-Identifier: Apache-2.0
// Marks at both ends of a block, read again before it is freed: two blocks that overlap, or a block
// given out twice, do not go unnoticed, and a kernel pays for no more than the two cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "harness.hpp"

namespace bench {

// The smallest block that holds a mark.
inline constexpr std::size_t kSmallestMarked = 8;

// A mark that differs in all its bytes from those of other numbers (SplitMix64's finaliser).
inline std::uint64_t mark_of(std::uint64_t number) { return Random(number).next(); }

// The first eight bytes are the mark, the last byte is the mark's last: in a block of eight bytes
// that is the same byte.
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
