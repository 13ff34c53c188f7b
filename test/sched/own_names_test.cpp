// SPDX-License-Identifier: Apache-2.0
// A program of oneTBB that says "using namespace tbb" and has global names which TBB had up to
// 2020. Each header under tbb/ that both versions have, except task.h and tbb.h, leaves them to it.
#include <gtest/gtest.h>
#include <tbb/blocked_nd_range.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/collaborative_call_once.h>
#include <tbb/combinable.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/memory_pool.h>
#include <tbb/mutex.h>
#include <tbb/null_mutex.h>
#include <tbb/null_rw_mutex.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>
#include <tbb/partitioner.h>
#include <tbb/profiling.h>
#include <tbb/queuing_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/rw_mutex.h>
#include <tbb/scalable_allocator.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>
#include <tbb/tbb_allocator.h>
#include <tbb/tick_count.h>
#include <tbb/version.h>

#include <atomic>

#include "own_names.hpp"

struct task {
  int value;
};

TEST(OwnNames, WithHeadersOfBothVersions) {
  const task own{6};
  std::atomic<int> sum{0};
  parallel_for(0, 10, [&](int) { sum += own.value; });
  EXPECT_EQ(sum, 60);
  use_own_names();
}
