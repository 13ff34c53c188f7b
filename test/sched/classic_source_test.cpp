// SPDX-License-Identifier: Apache-2.0
// A source file that includes a header which only TBB 2020 had finds what the headers of algorithms
// brought along there: here the algorithm's header comes first.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
// comes second
#include <tbb/task_scheduler_init.h>

TEST(ClassicSource, FindsTasksWithAnAlgorithm) {
  tbb::task_scheduler_init init(2);
  tbb::task_group_context context;
  tbb::parallel_for(0, 1, [](int) { tbb::task::self().cancel_group_execution(); }, context);
  EXPECT_TRUE(context.is_group_execution_cancelled());
  tbb::task_list list;
  EXPECT_TRUE(list.empty());
  EXPECT_STREQ(tbb::captured_exception("name", "what").what(), "what");
}
