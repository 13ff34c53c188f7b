// SPDX-License-Identifier: Apache-2.0
// Suspending tasks and resuming them.
#include <corbel/detail/suspend.hpp>
#include <corbel/enumerable_thread_specific.hpp>
#include <corbel/global_control.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "helped.hpp"
#include "system.hpp"

namespace {

using corbel::detail::suspend_point;

// A thread outside the library that resumes the suspended tasks it is told of, in arbitrary order.
class Resumer {
 public:
  Resumer() : thread_([this] { run(); }) {}
  ~Resumer() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void take(suspend_point point) {
    const std::lock_guard<std::mutex> guard(mutex_);
    points_.push_back(point);
    changed_.notify_one();
  }

 private:
  void run() {
    std::minstd_rand random;
    for (;;) {
      std::unique_lock<std::mutex> guard(mutex_);
      changed_.wait(guard, [&] { return stop_ || !points_.empty(); });
      if (points_.empty()) return;
      const bool newest = random() % 2 != 0;
      const suspend_point point = newest ? points_.back() : points_.front();
      if (newest) {
        points_.pop_back();
      } else {
        points_.pop_front();
      }
      guard.unlock();
      if (random() % 3 == 0) std::this_thread::yield();
      corbel::detail::resume(point);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<suspend_point> points_;
  bool stop_ = false;
  std::thread thread_;
};

class SuspendTest : public testing::Test {
 protected:
  void pause() {
    const auto before = std::this_thread::get_id();
    auto tell = [&](suspend_point point) { resumer_.take(point); };
    corbel::detail::suspend_with(tell);
    EXPECT_EQ(before, std::this_thread::get_id());
    paused_.fetch_add(1, std::memory_order_relaxed);
  }

  // Suspends once in every leaf; with `in_handlers`, also in many exception handlers.
  void tree(int depth, bool in_handlers) {
    if (depth == 0) return pause();
    corbel::parallel_invoke([&] { tree(depth - 1, in_handlers); },
                            [&] { tree(depth - 1, in_handlers); });
    if (!in_handlers || depth % 3 != 0) return;
    try {
      throw depth;
    } catch (int thrown) {
      pause();
      EXPECT_EQ(thrown, depth);
      try {
        throw;
      } catch (int again) {
        EXPECT_EQ(again, depth);
      }
    }
  }

  Resumer resumer_;
  std::atomic<int> paused_{0};
};

TEST_F(SuspendTest, TheTaskContinuesWhereItWasSuspended) {
  pause();
  EXPECT_EQ(paused_, 1);
}

TEST_F(SuspendTest, ResumedBeforeTheSwitchIsComplete) {
  auto at_once = [](suspend_point point) { corbel::detail::resume(point); };
  corbel::detail::suspend_with(at_once);
}

TEST_F(SuspendTest, ManyAtOnce) {
  for (int i = 0; i < 5; ++i) tree(6, false);
  EXPECT_EQ(paused_, 5 * 64);
}

TEST_F(SuspendTest, ExceptionsBelongToTheStackThatHandlesThem) {
  for (int i = 0; i < 5; ++i) tree(6, true);
  EXPECT_EQ(paused_, 5 * (64 + 8 + 1));
}

TEST_F(SuspendTest, AnExceptionAfterTheResumeReachesTheWait) {
  EXPECT_THROW(corbel::parallel_invoke(
                   [&] {
                     pause();
                     throw std::runtime_error("after");
                   },
                   [&] { pause(); }),
               std::runtime_error);
}

TEST_F(SuspendTest, InSeveralThreadsOfTheProgram) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) tree(5, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(paused_, 4 * 5 * (32 + 4));
}

// An element of ets_suspend_aware belongs to the stack, one of the other kinds to the thread.
template <corbel::ets_key_usage_type kUsage>
void suspend_with_local(bool is_shared) {
  corbel::enumerable_thread_specific<int, corbel::cache_aligned_allocator<int>, kUsage> local(0);
  corbel::task_arena(1).execute([&] {
    suspend_point suspended = nullptr;
    corbel::task_group group;
    group.run([&] {
      bool exists = false;
      int& other = local.local(exists);
      EXPECT_EQ(exists, is_shared);
      other = 2;
      corbel::detail::resume(suspended);
      EXPECT_EQ(&local.local(), &other);
    });
    int& mine = local.local();
    mine = 1;
    auto tell = [&](suspend_point point) { suspended = point; };
    corbel::detail::suspend_with(tell);
    EXPECT_EQ(&local.local(), &mine);
    EXPECT_EQ(mine, is_shared ? 2 : 1);
    group.wait();
    EXPECT_EQ(&local.local(), &mine);
  });
  EXPECT_EQ(local.size(), is_shared ? 1 : 2);
  const auto copy = local;
  EXPECT_EQ(copy.size(), local.size());
}

TEST_F(SuspendTest, ThreadLocalElementsOfStacks) {
  suspend_with_local<corbel::ets_no_key>(true);
  suspend_with_local<corbel::ets_key_per_instance>(true);
  suspend_with_local<corbel::ets_suspend_aware>(false);
}

// While one task is suspended, its thread runs the others. One of those resumes it.
TEST_F(SuspendTest, OneTaskResumesAnother) {
  for (int i = 0; i < 100; ++i) {
    std::atomic<suspend_point> waiting{nullptr};
    std::atomic<int> order{0};
    corbel::parallel_invoke(
        [&] {
          auto tell = [&](suspend_point point) { waiting.store(point); };
          corbel::detail::suspend_with(tell);
          EXPECT_EQ(order.fetch_add(1), 1);
        },
        [&] {
          suspend_point point = nullptr;
          while ((point = waiting.load()) == nullptr) std::this_thread::yield();
          EXPECT_EQ(order.fetch_add(1), 0);
          corbel::detail::resume(point);
        });
    EXPECT_EQ(order, 2);
  }
}

TEST_F(SuspendTest, TheCalledFunctionMayWaitAndSuspend) {
  for (int i = 0; i < 20; ++i) {
    bool is_over = false;
    auto tell = [&](suspend_point point) {
      corbel::detail::resume(point);
      tree(4, true);
      is_over = true;
    };
    corbel::detail::suspend_with(tell);
    EXPECT_TRUE(is_over);
  }
}

TEST_F(SuspendTest, ExceptionsOfTheCalledFunctionReachTheCaller) {
  auto fail = [](suspend_point) { throw std::runtime_error("not told"); };
  EXPECT_THROW(corbel::detail::suspend_with(fail), std::runtime_error);
  pause();
  const std::size_t before = test::process_memory().mapped;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THROW(corbel::detail::suspend_with(fail), std::runtime_error);
  }
  // 1000 stacks take twenty times as much
  EXPECT_LT(test::process_memory().mapped - before, std::size_t(100'000) * 4096);
  pause();
}

// Calls f(point) as a task in a new thread that runs no other task. Meanwhile the thread's own
// stack is suspended outside of all tasks.
template <typename F>
void run_while_suspended(const F& f) {
  const corbel::global_control alone(corbel::global_control::max_allowed_parallelism, 1);
  std::thread([&] {
    corbel::task_group tasks;
    suspend_point point = nullptr;
    tasks.run([&] { f(point); });
    auto tell = [&](suspend_point p) { point = p; };
    corbel::detail::suspend_with(tell);
    tasks.wait();
  }).join();
}

int use_stack(std::size_t bytes) {
  volatile char piece[4096];
  piece[0] = 1;
  if (bytes > sizeof piece) piece[1] = char(use_stack(bytes - sizeof piece));
  return piece[0];
}

TEST_F(SuspendTest, StacksAreAsLargeAsThoseOfThreads) {
  const std::size_t size =
      corbel::global_control::active_value(corbel::global_control::thread_stack_size);
  const auto use = [](std::size_t bytes) {
    run_while_suspended([bytes](suspend_point point) {
      use_stack(bytes);
      corbel::detail::resume(point);
    });
  };
  use(size * 3 / 4);
  const corbel::global_control large(corbel::global_control::thread_stack_size, 8 * size);
  use(6 * size);
}

TEST_F(SuspendTest, ImpossibleStackSizes) {
  {
    const corbel::global_control small(corbel::global_control::thread_stack_size, 1);
    run_while_suspended([](suspend_point point) {
      use_stack(64 << 10);
      corbel::detail::resume(point);
    });
  }
  const corbel::global_control large(corbel::global_control::thread_stack_size, ~std::size_t{0});
  std::thread([&] { EXPECT_THROW(pause(), std::bad_alloc); }).join();
}

// A task in the only slot of an arena resumes a stack that is suspended there, while another stack
// of the thread could run elsewhere.
TEST_F(SuspendTest, TasksInASlotAreRunBeforeTheThreadLeaves) {
  corbel::task_arena narrow(1);
  suspend_point inner = nullptr;
  run_while_suspended([&](suspend_point outer) {
    narrow.execute([&] {
      corbel::task_group tasks;
      tasks.run([&] { corbel::detail::resume(inner); });
      auto tell = [&](suspend_point point) {
        inner = point;
        corbel::detail::resume(outer);
      };
      corbel::detail::suspend_with(tell);
      tasks.wait();
    });
  });
}

TEST_F(SuspendTest, FloatingPointSettingsBelongToTheStack) {
  run_while_suspended([](suspend_point outer) {
    int seen = -1;
    suspend_point inner = nullptr;
    corbel::task_group tasks;
    tasks.run([&] {
      seen = std::fegetround();
      corbel::detail::resume(inner);
    });
    auto tell = [&](suspend_point point) { inner = point; };
    std::fesetround(FE_UPWARD);
    corbel::detail::suspend_with(tell);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(seen, FE_TONEAREST);
    tasks.wait();
    corbel::detail::resume(outer);
  });
}

// A task of another thread's group is suspended in a thread that has nothing more to do.
TEST_F(SuspendTest, AThreadThatEndsWaitsForItsTasks) {
  if (!test::kEndsOfThreadsMayWait) GTEST_SKIP() << "threads end under the loader's lock here";
  const corbel::global_control alone(corbel::global_control::max_allowed_parallelism, 1);
  corbel::task_group tasks;
  std::atomic<suspend_point> inner{nullptr};
  std::atomic<bool> has_run{false};
  std::thread thread([&] {
    suspend_point outer = nullptr;
    tasks.run([&] {
      auto tell = [&](suspend_point point) {
        inner = point;
        corbel::detail::resume(outer);
      };
      corbel::detail::suspend_with(tell);
      has_run = true;
    });
    auto tell = [&](suspend_point point) { outer = point; };
    corbel::detail::suspend_with(tell);
    EXPECT_FALSE(has_run);
  });
  while (inner == nullptr) std::this_thread::yield();
  // so that the thread ends first in most runs
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  corbel::detail::resume(inner);
  thread.join();
  EXPECT_TRUE(has_run);
  tasks.wait();
}

// The stack that checks whether all suspended stacks have ended is itself suspended meanwhile.
TEST_F(SuspendTest, TheLastWaitSwitchesToAnotherStack) {
  if (!test::has_worker()) GTEST_SKIP() << "one processor";
  corbel::global_control two(corbel::global_control::max_allowed_parallelism, 2);
  std::atomic<suspend_point> point{nullptr};
  std::atomic<bool> has_begun{false}, may_end{false}, has_ended{false};
  std::thread resumer([&] {
    while (point == nullptr || !has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    corbel::detail::resume(point);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that the outer wait is over
    may_end = true;
  });
  corbel::task_group others, group;
  group.run([&] {
    others.run([&] {
      corbel::task_group inner;
      inner.run([&] {
        has_begun = true;
        while (!may_end) std::this_thread::yield();
      });
      while (!has_begun) std::this_thread::yield();  // another thread runs it
      inner.wait();
      has_ended = true;
    });
    auto tell = [&](suspend_point p) { point = p; };
    corbel::detail::suspend_with(tell);
  });
  group.wait();
  others.wait();
  EXPECT_TRUE(has_ended);
  resumer.join();
}

}  // namespace
