// SPDX-License-Identifier: Apache-2.0
// Small parts of the interface of TBB 2020, and the assertion handler of both TBB versions.
#include <gtest/gtest.h>
#include <tbb/blocked_rangeNd.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/tbb_config.h>
#include <tbb/tbb_stddef.h>

#include <type_traits>

namespace {

TEST(ClassicContext, TakesPrioritiesAndExceptions) {
  tbb::task_group_context context;
  context.set_priority(tbb::priority_high);
  EXPECT_EQ(context.priority(), tbb::priority_normal);
  tbb::task_group group(context);
  try {
    throw 5;
  } catch (...) {
    context.register_pending_exception();
  }
  EXPECT_TRUE(context.is_group_execution_cancelled());
  EXPECT_THROW(group.wait(), int);
}

TEST(ClassicNames, NumberedNamespaces) {
  static_assert(std::is_same<tbb::interface7::task_arena, tbb::task_arena>::value, "");
  static_assert(std::is_same<tbb::interface9::task_group, tbb::task_group>::value, "");
  EXPECT_GT(tbb::interface7::this_task_arena::max_concurrency(), 0);
}

TEST(ClassicNames, RangesOfManyDimensions) {
  const tbb::blocked_rangeNd<int, 2> range({0, 4}, {0, 5, 2});
  EXPECT_EQ(range.ndims(), 2u);
  EXPECT_EQ(range.dim(1).grainsize(), 2u);
}

int handled = 0;
void handle(const char*, int, const char*, const char*) { ++handled; }

TEST(AssertionHandler, IsSetAndReset) {
  const tbb::assertion_handler_type first = tbb::get_assertion_handler();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(tbb::set_assertion_handler(&handle), first);
  EXPECT_EQ(tbb::get_assertion_handler(), &handle);
  tbb::get_assertion_handler()("file", 1, "condition", "what");
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(tbb::ext::set_assertion_handler(nullptr), &handle);
  EXPECT_EQ(tbb::get_assertion_handler(), first);
}

}  // namespace
