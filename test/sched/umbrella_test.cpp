// SPDX-License-Identifier: Apache-2.0
// The umbrella header: a program that includes nothing else finds the names of all other headers.
#include <gtest/gtest.h>
#include <tbb/tbb.h>

TEST(Umbrella, HasTheNamesOfTheOthers) {
  tbb::blocked_range<int> whole(0, 10);
  const tbb::blocked_range<int> half(whole, tbb::split());
  EXPECT_EQ(whole.size() + half.size(), 10u);
  tbb::spin_mutex mutex;
  const tbb::spin_mutex::scoped_lock lock(mutex);
  EXPECT_GE((tbb::tick_count::now() - tbb::tick_count::now()).seconds(), -1.0);
  EXPECT_EQ(oneapi::tbb::cache_aligned_allocator<int>(), tbb::cache_aligned_allocator<int>());
}
