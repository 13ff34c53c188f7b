// SPDX-License-Identifier: Apache-2.0
// The table of size classes: every size maps to the smallest class that holds it, and the bounds on
// alignment and waste hold for all classes.
#include "alloc/map/size_class.hpp"

#include <gtest/gtest.h>

namespace corbel::alloc {
namespace {

// Finds the class by a search of the table, without class_of().
unsigned smallest_class_holding(std::size_t size) {
  unsigned i = 0;
  while (kSizeClasses[i].block_size < size) ++i;
  return i;
}

TEST(SizeClass, ClassesAscend) {
  for (unsigned i = 1; i < kClasses; ++i) {
    EXPECT_LT(kSizeClasses[i - 1].block_size, kSizeClasses[i].block_size) << i;
  }
}

TEST(SizeClass, EverySizeGoesToTheSmallestClassThatHoldsIt) {
  for (std::size_t size = 0; size <= kMediumMax; ++size) {
    ASSERT_EQ(class_of(size), smallest_class_holding(size)) << size;
  }
}

TEST(SizeClass, BlocksAboveEightBytesAreAlignedToSixteen) {
  EXPECT_EQ(kSizeClasses[0].block_size, 8U);
  for (unsigned i = 1; i < kClasses; ++i) EXPECT_EQ(kSizeClasses[i].block_size % 16, 0U) << i;
}

TEST(SizeClass, WasteInsideABlockIsBounded) {
  for (std::size_t size = 129; size <= kMediumMax; ++size) {
    const std::size_t block = kSizeClasses[class_of(size)].block_size;
    if (size <= 16 * 1024) {
      ASSERT_LE(block - size, block / 8) << size;
    } else {
      ASSERT_LT(block - size, 4096U) << size;
    }
  }
  for (std::size_t size = 9; size <= 128; ++size) {
    ASSERT_LT(kSizeClasses[class_of(size)].block_size - size, 16U) << size;
  }
}

TEST(SizeClass, SlabsHoldTheirCapacityAndWasteLittle) {
  for (const SizeClass& size_class : kSizeClasses) {
    const std::size_t slab = size_class.units * kUnit;
    const std::size_t used = std::size_t(size_class.capacity) * size_class.block_size;
    EXPECT_LE(used, slab) << size_class.block_size;
    EXPECT_LT(slab - used, size_class.block_size) << size_class.block_size;
    const std::size_t most_left = slab / (size_class.block_size > 16 * 1024 ? 8 : 16);
    EXPECT_TRUE(size_class.capacity >= 8 || slab - used <= most_left) << size_class.block_size;
    EXPECT_GE(size_class.capacity, 2U) << size_class.block_size;
    EXPECT_GE(size_class.carve, 1U) << size_class.block_size;
    EXPECT_LE(size_class.carve, size_class.capacity) << size_class.block_size;
    EXPECT_TRUE(size_class.carve == 1 || size_class.carve * size_class.block_size <= 4096U)
        << size_class.block_size;
  }
}

TEST(SizeClass, AlignedClassIsTheSmallestWhoseBlocksAreAligned) {
  for (std::size_t alignment = 1; alignment <= 2 * kUnit; alignment *= 2) {
    for (std::size_t size = 0; size <= kMediumMax + 1; size += size < 2048 ? 1 : 61) {
      unsigned expected = kClasses;
      for (unsigned i = kClasses; i-- > 0;) {
        const std::size_t block = kSizeClasses[i].block_size;
        if (block >= size && block % alignment == 0 && alignment <= kUnit) expected = i;
      }
      ASSERT_EQ(aligned_class_of(size, alignment), expected) << size << " at " << alignment;
    }
  }
}

TEST(SizeClass, IndexesTheBlockThatBeginsAtAnOffset) {
  for (const SizeClass& size_class : kSizeClasses) {
    for (std::uint32_t offset = 0; offset < size_class.units * kUnit; ++offset) {
      const std::uint32_t index = size_class.block_at(offset);
      if (offset % size_class.block_size == 0) {
        ASSERT_EQ(index, offset / size_class.block_size) << size_class.block_size;
      } else {
        ASSERT_GE(index, size_class.capacity) << size_class.block_size << " at " << offset;
      }
    }
  }
}

}  // namespace
}  // namespace corbel::alloc
