// SPDX-License-Identifier: Apache-2.0
// The size classes of a pool. Up to 1024 they are spaced so that rounding up wastes at most a fifth
// of a block; above, they divide a slab evenly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::pools {

inline constexpr std::size_t kPoolClassSizes[] = {
    8,   16,  32,  48,  64,  80,  96,   112,  128,  160,  192,  224,  256,  320,
    384, 448, 512, 640, 768, 896, 1024, 1344, 1792, 2688, 3200, 4032, 5376, 8128};
inline constexpr unsigned kPoolClasses = sizeof(kPoolClassSizes) / sizeof(kPoolClassSizes[0]);
inline constexpr std::size_t kPoolMaxSmall = kPoolClassSizes[kPoolClasses - 1];

namespace pool_detail {

inline constexpr std::size_t kTableLimit = 1024;

// Not a std::array: its checks, where enabled, need the C++ library.
struct ClassTable {
  std::uint8_t entries[kTableLimit / 8 + 1] = {};

  constexpr ClassTable() {
    unsigned c = 0;
    for (std::size_t i = 0; i <= kTableLimit / 8; ++i) {
      while (kPoolClassSizes[c] < i * 8) ++c;
      entries[i] = std::uint8_t(c);
    }
  }
};
inline constexpr ClassTable kClassTable;

}  // namespace pool_detail

// The smallest size class for `size` bytes. Requires: size <= kPoolMaxSmall.
inline unsigned pool_class_of(std::size_t size) {
  if (size <= pool_detail::kTableLimit) return pool_detail::kClassTable.entries[(size + 7) / 8];
  unsigned c = pool_detail::kClassTable.entries[pool_detail::kTableLimit / 8];
  while (kPoolClassSizes[c] < size) ++c;
  return c;
}

// Whether the blocks of class `c` are aligned to 64. Three sizes that are multiples of 64 are not,
// because fewer aligned blocks would fit into a slab (see first_block in pool_span.hpp).
constexpr bool pool_class_is_aligned(unsigned c) {
  const std::size_t size = kPoolClassSizes[c];
  return size % 64 == 0 && size != 1344 && size != 4032 && size != 8128;
}

// How many blocks move between a shard and the slabs at a time.
constexpr unsigned pool_batch(unsigned c) {
  const std::size_t fit = 8192 / kPoolClassSizes[c];
  return fit < 1 ? 1 : fit > 32 ? 32 : unsigned(fit);
}

}  // namespace corbel::pools
