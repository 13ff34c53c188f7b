// SPDX-License-Identifier: Apache-2.0
// The allocators that TBB's main library provides. This program links libcorbel but not
// libcorbelmalloc; test/api tests the opposite case.
#include <gtest/gtest.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/tbb_allocator.h>

#include <cstdint>
#include <map>
#include <vector>

#include "../api/allocate_alignments.hpp"

namespace {

using test::aligned;

TEST(Memory, AllocatorsServeContainers) {
  std::vector<int, tbb::cache_aligned_allocator<int>> lines(3, 7);
  EXPECT_TRUE(aligned(lines.data(), 64));
  std::map<int, int, std::less<int>, tbb::tbb_allocator<std::pair<const int, int>>> map;
  for (int i = 0; i < 1000; ++i) map[i] = i;
  EXPECT_EQ(map[999], 999);
}

TEST(Memory, Alignments) { test::expect_alignments(); }

TEST(Memory, ExhaustionThrows) {
  EXPECT_THROW(tbb::cache_aligned_allocator<char>().allocate(SIZE_MAX), std::bad_array_new_length);
  EXPECT_THROW(tbb::tbb_allocator<char>().allocate(SIZE_MAX / 4), std::bad_alloc);
}

}  // namespace
