// SPDX-License-Identifier: Apache-2.0
// The names that a TBB header brings along: programs use this_task_arena, task_group, the ranges
// and the partitioners with only the header of an algorithm included.
#include <gtest/gtest.h>
#define TBB_CLASSIC_NAMES 1  // brings what the headers brought along in TBB 2020, too
#include <tbb/combinable.h>
#include <tbb/parallel_scan.h>

namespace {

TEST(BroughtAlong, ByAnAlgorithm) {
  int sum = 0;
  tbb::this_task_arena::isolate([&] {
    sum = tbb::parallel_scan(
        tbb::blocked_range<int>(0, 100), 0,
        [](const tbb::blocked_range<int>& range, int so_far, bool) {
          for (int i = range.begin(); i != range.end(); ++i) so_far += i;
          return so_far;
        },
        [](int x, int y) { return x + y; }, tbb::auto_partitioner());
  });
  EXPECT_EQ(sum, 4950);
  EXPECT_GE(tbb::this_task_arena::max_concurrency(), 1);
  bool done = false;
  tbb::task_group group;
  group.run_and_wait([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST(BroughtAlong, ByCombinable) {
  tbb::enumerable_thread_specific<int, tbb::cache_aligned_allocator<int>> values(7);
  EXPECT_EQ(values.local(), 7);
}

TEST(BroughtAlong, TasksForAProgramThatWantsThem) {
  tbb::empty_task& root = *new (tbb::task::allocate_root()) tbb::empty_task;
  tbb::task::spawn_root_and_wait(root);
  EXPECT_FALSE(tbb::task::self().is_cancelled());
}

}  // namespace
