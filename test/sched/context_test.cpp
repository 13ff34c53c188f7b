// SPDX-License-Identifier: Apache-2.0
// A context that several calls use at the same time: what it is bound to, and what it throws.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "helped.hpp"

namespace {

void wait_until(const std::atomic<int>& number, int value) {
  while (number < value) std::this_thread::yield();
}

// Calls f() in a group of its own. In every call from the same function the group's node has the
// same address on the stack.
template <typename F>
__attribute__((noinline)) void in_group(F&& f) {
  tbb::parallel_invoke(f, [] {});
}

// The first thread ends its call while the second one uses the context. Then it puts another group
// at the address of the group that the context was bound to.
TEST(Context, IsUnboundWhenTheCallItIsBoundToHasEnded) {
  tbb::task_group_context context;
  std::atomic<int> step{0};
  std::thread first([&] {
    for (const bool uses : {true, false}) {
      in_group([&] {
        if (uses) {
          tbb::parallel_invoke(
              [&] {
                step = 1;
                wait_until(step, 2);
              },
              [] {}, context);
          return;
        }
        tbb::task::current_context()->cancel_group_execution();
        step = 3;
        wait_until(step, 4);
      });
    }
  });
  wait_until(step, 1);
  tbb::parallel_invoke(
      [&] {
        step = 2;
        wait_until(step, 3);
        EXPECT_FALSE(context.is_group_execution_cancelled());
        EXPECT_FALSE(tbb::is_current_task_group_canceling());
        step = 4;
        first.join();
        tbb::task_group_context other;
        other.cancel_group_execution();  // makes the threads check their contexts
        EXPECT_FALSE(context.is_group_execution_cancelled());
      },
      [] {}, context);
  EXPECT_FALSE(context.is_group_execution_cancelled());
}

// A cancellation from above stays in force after the call has ended.
TEST(Context, RemembersACancellationFromAbove) {
  tbb::task_group_context context;
  std::atomic<int> step{0};
  std::thread first([&] {
    in_group([&] {
      tbb::task_group_context& above = *tbb::task::current_context();
      tbb::parallel_invoke(
          [&] {
            step = 1;
            wait_until(step, 2);
            above.cancel_group_execution();
          },
          [] {}, context);
    });
  });
  wait_until(step, 1);
  tbb::parallel_invoke(
      [&] {
        step = 2;
        first.join();
        EXPECT_TRUE(tbb::is_current_task_group_canceling());
      },
      [] {}, context);
  EXPECT_TRUE(context.is_group_execution_cancelled());
  context.reset();
  EXPECT_FALSE(context.is_group_execution_cancelled());
}

// The tasks of the group already run, and have groups of their own.
TEST(Context, IsBoundWithItsSubtreeBelowACancelledContext) {
  tbb::task_group group;
  std::atomic<int> looks{0};
  std::atomic<bool> is_cancelled{false};
  tbb::task_arena(2).enqueue(group.defer([&] {
    in_group([&] {
      is_cancelled = test::wait_for(
          [&] {
            ++looks;
            return tbb::is_current_task_group_canceling();
          },
          20000);
    });
  }));
  in_group([&] {
    tbb::task::current_context()->cancel_group_execution();
    wait_until(looks, looks + 2);  // the task has seen that the cancellation does not concern it
    EXPECT_EQ(group.wait(), tbb::canceled);
  });
  EXPECT_TRUE(is_cancelled);
}

// Several threads make calls while groups above the context and unrelated groups are cancelled.
TEST(Context, IsUsedByManyThreadsDuringCancellations) {
  tbb::task_group_context context;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 2'000; ++n) {
        in_group([&] {
          tbb::parallel_invoke(
              [&] {
                in_group([&] { tbb::is_current_task_group_canceling(); });
                if (n % 3 == i) tbb::task_group_context().cancel_group_execution();
              },
              [&] { context.is_group_execution_cancelled(); }, context);
        });
      }
    });
  }
  std::thread asks([&] {
    while (!stop) context.is_group_execution_cancelled();
  });
  for (auto& t : threads) t.join();
  stop = true;
  asks.join();
  EXPECT_FALSE(context.is_group_execution_cancelled());
}

// ---- exceptions ---------------------------------------------------------------------------------

TEST(Context, ThrowsInEveryCallThatUsesIt) {
  tbb::task_group_context context;
  std::atomic<int> step{0};
  std::thread other([&] {
    EXPECT_THROW(tbb::parallel_invoke(
                     [&] {
                       step = 1;
                       wait_until(step, 2);
                     },
                     [] {}, context),
                 std::runtime_error);
  });
  wait_until(step, 1);
  EXPECT_THROW(tbb::parallel_invoke([] { throw std::runtime_error("for both"); }, [] {}, context),
               std::runtime_error);
  step = 2;
  other.join();
  tbb::parallel_invoke([] { FAIL(); }, [] { FAIL(); }, context);  // does not run: cancelled
  context.reset();
}

TEST(Context, ThrowsThroughNestedCalls) {
  tbb::task_group_context context;
  EXPECT_THROW(
      tbb::parallel_invoke(
          [&] { tbb::parallel_invoke([] { throw std::runtime_error("inside"); }, [] {}, context); },
          [] {}, context),
      std::runtime_error);
}

// One thread takes the exception while others copy it.
TEST(Context, GivesItsExceptionToSeveralThreads) {
  namespace detail = corbel::detail;
  for (int repeat = 0; repeat < 200; ++repeat) {
    detail::context_node root{{0}, {0}, {}}, node;
    node.attach_to(root);
    try {
      throw std::runtime_error("kept");
    } catch (...) {
      detail::capture_exception(node);
    }
    std::atomic<int> taken{0}, copied{0}, ready{0};
    const auto copy = [&] {
      ++ready;
      wait_until(ready, 3);
      try {
        detail::rethrow_copy(node);
      } catch (const std::runtime_error&) {
        ++copied;
      }
    };
    std::thread one(copy), other(copy);
    ++ready;
    wait_until(ready, 3);
    try {
      detail::rethrow_exception(node);
    } catch (const std::runtime_error&) {
      ++taken;
    }
    one.join();
    other.join();
    EXPECT_EQ(taken, 1);
    EXPECT_LE(copied, 2);
    EXPECT_FALSE(node.has_failed());
  }
}

TEST(Context, GivesTheExceptionOfAGroupToOneWaiter) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group group;
    std::atomic<int> ready{0}, caught{0};
    const auto wait = [&] {
      ++ready;
      try {
        group.wait();
      } catch (const std::runtime_error&) {
        ++caught;
      }
    };
    tbb::task_arena(2).enqueue(group.defer([&] {
      wait_until(ready, 2);
      throw std::runtime_error("for one");
    }));
    std::thread one(wait), other(wait);
    one.join();
    other.join();
    EXPECT_EQ(caught, 1);
    EXPECT_EQ(group.wait(), tbb::complete);
  }
}

}  // namespace
