// SPDX-License-Identifier: Apache-2.0
// Waits that take further tasks, each of which waits: however many there are, no stack overflows.
// Without care each test ends with a segmentation fault.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "system.hpp"

namespace {

using test::ThreadWithStack;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kFactor = 4;  // of the size of frames
#else
constexpr std::size_t kFactor = 1;
#endif
constexpr std::size_t kSmallest = kFactor * (64 << 10);
constexpr std::size_t kSmall = kFactor * (256 << 10);

// Tasks that all wait for a group, which ends when the last of them has begun. So a thread that
// runs several of them has them all on its stack at the same time.
class Nest {
 public:
  explicit Nest(int tasks) : tasks_(tasks), last_(gate_.defer([] {})) {}

  void run_one() {
    volatile char frame[1024];  // the least that a body of a program may need
    frame[0] = 1;
    if (begun_.fetch_add(1) + 1 == tasks_) gate_.run(std::move(last_));
    gate_.wait();
    frame[1] = frame[0];
    ++ended_;
  }
  int tasks() const { return tasks_; }
  bool has_begun() const { return begun_ == tasks_; }
  int ended() const { return ended_; }

 private:
  const int tasks_;
  tbb::task_group gate_;
  tbb::task_handle last_;
  std::atomic<int> begun_{0}, ended_{0};
};

constexpr int kMany = 4000;

// All threads' stacks have this size, those of workers too.
class StackTest : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() { end_workers(); }
  static void TearDownTestSuite() { end_workers(); }

  StackTest() : size_(tbb::global_control::thread_stack_size, GetParam()) {}

  template <typename F>
  void in_small_thread(const F& body) {
    const ThreadWithStack thread(GetParam(), body);
  }

 private:
  static void end_workers() {
    tbb::task_scheduler_handle handle{tbb::attach()};
    tbb::finalize(handle, std::nothrow);
  }

  const tbb::global_control size_;
};

INSTANTIATE_TEST_SUITE_P(Bytes, StackTest, testing::Values(kSmallest, kSmall));

// Each body waits for the same task of another thread. Its wait pops the loop's own task from the
// thread's deque, and so runs the next body.
TEST_P(StackTest, BodiesOfALoopThatWait) {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  in_small_thread([] {
    std::atomic<int> begun{0};
    std::atomic<bool> is_running{false};
    tbb::task_group group;
    group.run([&] {
      is_running = true;
      while (begun != kMany) std::this_thread::yield();
    });
    while (!is_running) std::this_thread::yield();  // a worker has it
    tbb::parallel_for(
        0, kMany,
        [&](int) {
          ++begun;
          group.wait();
        },
        tbb::simple_partitioner());
    EXPECT_EQ(begun, kMany);
  });
}

TEST_P(StackTest, EnqueuedTasksThatWait) {
  in_small_thread([] {
    Nest nest(kMany);
    tbb::task_arena arena(2);
    tbb::task_group group;
    for (int i = 0; i < kMany; ++i) arena.enqueue(group.defer([&] { nest.run_one(); }));
    arena.wait_for(group);
    EXPECT_EQ(nest.ended(), kMany);
  });
}

// One thread has the tasks in its deque and runs none. The others steal them.
void steal_all(Nest& nest) {
  tbb::task_group group;
  for (int i = 0; i < nest.tasks(); ++i) group.run([&] { nest.run_one(); });
  while (!nest.has_begun()) std::this_thread::yield();
  group.wait();
}

TEST_P(StackTest, StolenTasksThatWait) {
  in_small_thread([] {
    Nest nest(kMany);
    const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena(2).execute([&] { steal_all(nest); });
    EXPECT_EQ(nest.ended(), kMany);
  });
}

TEST_P(StackTest, StolenTasksOfAnIsolationScope) {
  in_small_thread([] {
    Nest nest(kMany);
    const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena(2).execute([&] { tbb::this_task_arena::isolate([&] { steal_all(nest); }); });
    EXPECT_EQ(nest.ended(), kMany);
  });
}

// Each task waits in another arena, where it is the first to wait in its slot.
TEST_P(StackTest, TasksThatWaitInOtherArenas) {
  in_small_thread([] {
    constexpr int kTasks = 900;
    Nest nest(kTasks);
    tbb::task_arena arenas[] = {{kTasks}, {kTasks}};  // every task may need a slot
    tbb::task_group group;
    for (int i = 0; i < kTasks; ++i) {
      arenas[i % 2].enqueue(
          group.defer([&, i] { arenas[(i + 1) % 2].execute([&] { nest.run_one(); }); }));
    }
    arenas[0].wait_for(group);
    EXPECT_EQ(nest.ended(), kTasks);
  });
}

// A suspended task's stack may consist of several parts.
TEST_P(StackTest, TasksThatSuspendDeepInWaits) {
  in_small_thread([] {
    Nest nest(kMany);
    std::atomic<int> resumed{0};
    tbb::task_arena arena(2);
    tbb::task_group group;
    for (int i = 0; i < kMany; ++i) {
      arena.enqueue(group.defer([&, i] {
        if (i % 64 == 0) {
          const auto self = std::this_thread::get_id();
          tbb::task::suspend([&](tbb::task::suspend_point point) {
            group.run([point] { tbb::task::resume(point); });
          });
          EXPECT_EQ(self, std::this_thread::get_id());
          ++resumed;
        }
        nest.run_one();
      }));
    }
    arena.wait_for(group);
    EXPECT_EQ(nest.ended(), kMany);
    EXPECT_EQ(resumed, (kMany + 63) / 64);
  });
}

// Exceptions that are handled while a wait runs other tasks.
TEST_P(StackTest, ExceptionsDeepInWaits) {
  in_small_thread([] {
    Nest nest(kMany);
    tbb::task_arena arena(2);
    tbb::task_group group;
    std::atomic<int> caught{0};
    for (int i = 0; i < kMany; ++i) {
      arena.enqueue(group.defer([&, i] {
        try {
          throw i;
        } catch (int) {
          nest.run_one();
          try {
            throw;
          } catch (int again) {
            if (again == i) ++caught;
          }
        }
      }));
    }
    arena.wait_for(group);
    EXPECT_EQ(caught, kMany);
  });
}

}  // namespace
