// SPDX-License-Identifier: Apache-2.0
// Waits for one task of a group.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

namespace {

TEST(SingleTask, IsWaitedForAlone) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    tbb::task_group group;
    std::atomic<bool> may_end{false};
    int result = 0;
    group.run([&] {
      while (!may_end) std::this_thread::yield();
    });
    // The task may be stolen, but the other one must not be taken: it would never end. So the wait
    // for the first is in a thread that has only the second.
    std::thread([&] {
      tbb::task_arena arena(1);
      arena.execute([&] {
        tbb::task_handle task = group.defer([&] { result = 42; });
        tbb::task_completion_handle end = task;
        EXPECT_EQ(group.get_status_of(end), tbb::not_complete);
        group.run(std::move(task));
        EXPECT_EQ(group.wait_for_task(end), tbb::task_complete);
        EXPECT_EQ(result, 42);
        EXPECT_EQ(group.get_status_of(end), tbb::task_complete);
        EXPECT_EQ(group.run_and_wait_for_task(group.defer([&] { ++result; })), tbb::task_complete);
        EXPECT_EQ(result, 43);
      });
    }).join();
    may_end = true;
    EXPECT_EQ(group.wait(), tbb::complete);
  }
}

TEST(SingleTask, OfAnotherThread) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group group;
    tbb::task_arena arena;
    std::atomic<int> result{0};
    tbb::task_handle task = group.defer([&] { result = 42; });
    tbb::task_completion_handle end = task;
    std::thread runner([&] { arena.enqueue(std::move(task)); });
    EXPECT_EQ(repeat % 2 == 0 ? group.wait_for_task(end) : arena.wait_for(end), tbb::task_complete);
    EXPECT_EQ(result, 42);
    runner.join();
    group.wait();
  }
}

TEST(SingleTask, AfterOthers) {
  tbb::task_group group;
  std::atomic<int> time{0};
  tbb::task_handle first = group.defer([&] { ++time; });
  tbb::task_handle second = group.defer([&] { time += 10; });
  tbb::task_group::set_task_order(first, second);
  group.run(std::move(first));
  EXPECT_EQ(group.run_and_wait_for_task(std::move(second)), tbb::task_complete);
  EXPECT_EQ(time, 11);
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(SingleTask, HandsItsCompletionOn) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group group;
    std::atomic<int> time{0};
    EXPECT_EQ(group.run_and_wait_for_task(group.defer([&] {
      tbb::task_handle inner = group.defer([&] { time += 10; });
      tbb::task_group::transfer_this_task_completion_to(inner);
      ++time;
      group.run(std::move(inner));
    })),
              tbb::task_complete);
    EXPECT_EQ(time, 11);
    group.wait();
  }
}

TEST(SingleTask, ThatDoesNotRunIsCanceled) {
  tbb::task_group group;
  tbb::task_handle task = group.defer([] { ADD_FAILURE(); });
  tbb::task_completion_handle end = task;
  group.cancel();
  group.run(std::move(task));
  EXPECT_EQ(group.wait_for_task(end), tbb::canceled);
  EXPECT_EQ(group.get_status_of(end), tbb::canceled);
  EXPECT_EQ(group.wait(), tbb::canceled);
  task = group.defer([] { ADD_FAILURE(); });
  end = task;
  task = tbb::task_handle();
  EXPECT_EQ(group.get_status_of(end), tbb::canceled);
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(SingleTask, ThrowsWhatATaskOfTheGroupThrew) {
  tbb::task_group group;
  EXPECT_THROW(group.run_and_wait_for_task(group.defer([] { throw std::runtime_error("one"); })),
               std::runtime_error);
  EXPECT_THROW(group.wait(), std::runtime_error);
  EXPECT_EQ(group.run_and_wait_for_task(group.defer([] {})), tbb::task_complete);
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(SingleTask, OfTheGroupOfTheWaitingTask) {
  tbb::task_group group;
  int depth = 0;
  group.run([&] {
    EXPECT_EQ(group.run_and_wait_for_task(group.defer([&] { ++depth; })), tbb::task_complete);
    ++depth;
  });
  group.wait();
  EXPECT_EQ(depth, 2);
}

}  // namespace
