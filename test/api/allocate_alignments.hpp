// SPDX-License-Identifier: Apache-2.0
// What corbel_allocate promises. Both libraries define it; each is tested without the other.
#pragma once

#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace test {

inline bool aligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

inline void expect_alignments() {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t size : {0, 1, 8, 9, 100, 5000}) {
      void* const block = corbel_allocate(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(aligned(block, alignment));
      corbel_deallocate(block);
    }
  }
  EXPECT_EQ(corbel_allocate(8, 0), nullptr);
  EXPECT_EQ(corbel_allocate(8, 3), nullptr);
  EXPECT_EQ(corbel_allocate(SIZE_MAX / 2, 64), nullptr);
  corbel_deallocate(nullptr);
}

}  // namespace test
