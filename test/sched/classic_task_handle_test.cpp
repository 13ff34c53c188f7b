// SPDX-License-Identifier: Apache-2.0
// The task_handle of TBB 2020, which is a template, for programs that ask for it.
#define TBB_CLASSIC_TASK_HANDLE 1
#include <gtest/gtest.h>
#include <tbb/tbb.h>

#include <atomic>

namespace {

struct Adds {
  std::atomic<int>* sum;
  void operator()() const { ++*sum; }
};

template <typename F>
void run_in(tbb::structured_task_group& group, tbb::task_handle<F>& handle) {
  group.run(handle);
}

TEST(ClassicTaskHandle, IsATemplate) {
  std::atomic<int> sum{0};
  tbb::task_handle<Adds> first(Adds{&sum});
  tbb::task_handle<Adds> second = tbb::make_task(Adds{&sum});
  tbb::structured_task_group group;
  run_in(group, first);
  group.run(second);
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(sum, 2);
  // The other kind is still there, without its name.
  tbb::task_group tasks;
  tasks.run(tasks.defer(Adds{&sum}));
  tasks.wait();
  EXPECT_EQ(sum, 3);
}

}  // namespace
