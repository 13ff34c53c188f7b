// SPDX-License-Identifier: Apache-2.0
// A program that links both libraries statically and takes all its memory from the allocator. The
// libraries' locks are of the same kind, and the scheduler allocates while it holds some of its
// own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

// The list of enqueued tasks grows by thousands of blocks.
int enqueue_many() {
  std::atomic<int> calls{0};
  tbb::task_arena arena(2);
  tbb::task_group group;
  constexpr int kMany = 50'000;
  for (int i = 0; i < kMany; ++i) arena.enqueue(group.defer([&] { ++calls; }));
  arena.wait_for(group);
  return calls - kMany;
}

TEST(BothStatic, ListsGrowUnderLocks) { EXPECT_EQ(enqueue_many(), 0); }

TEST(BothStatic, ForksWhileOthersAllocate) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      tbb::parallel_invoke([] { std::free(std::malloc(100'000)); }, [] { enqueue_many(); });
    }
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // instead of hanging
      _exit(enqueue_many() == 0 ? 42 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 42);
  }
  stop = true;
  other.join();
}

// Both libraries have a hook at the end of a thread.
TEST(BothStatic, ThreadsLeaveWhenTheyEnd) {
  struct Counter : tbb::task_scheduler_observer {
    void on_scheduler_entry(bool is_worker) override { callers += is_worker ? 0 : 1; }
    void on_scheduler_exit(bool is_worker) override { callers -= is_worker ? 0 : 1; }
    std::atomic<int> callers{0};
  } counter;
  std::thread([&] {
    counter.observe();  // makes this thread's arena
    std::free(std::malloc(100));
    EXPECT_EQ(counter.callers, 1);
  }).join();
  EXPECT_EQ(counter.callers, 0);
  counter.observe(false);
}

}  // namespace
