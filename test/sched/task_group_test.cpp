// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int fibonacci(int n) {
  if (n < 2) return n;
  int a = 0, b = 0;
  tbb::task_group group;
  group.run([&] { a = fibonacci(n - 1); });
  group.run([&] { b = fibonacci(n - 2); });
  EXPECT_EQ(group.wait(), tbb::complete);
  return a + b;
}

TEST(TaskGroup, RunsEveryTaskOnce) {
  EXPECT_EQ(fibonacci(16), 987);
  tbb::task_group group;
  EXPECT_EQ(group.wait(), tbb::complete);  // no task
  std::vector<std::atomic<int>> calls(5000);
  for (auto& c : calls) group.run([&c] { ++c; });
  EXPECT_EQ(group.wait(), tbb::complete);
  for (auto& c : calls) EXPECT_EQ(c, 1);
}

TEST(TaskGroup, WaitsForTasksThatTasksStart) {
  tbb::task_group group;
  std::atomic<int> calls{0};
  std::function<void(int)> grow = [&](int depth) {
    ++calls;
    if (depth == 0) return;
    group.run([&, depth] { grow(depth - 1); });
    group.run([&, depth] { grow(depth - 1); });
  };
  group.run([&] { grow(10); });
  group.wait();
  EXPECT_EQ(calls, 2047);
}

TEST(TaskGroup, TakesMoveOnlyAndLargeBodies) {
  tbb::task_group group;
  struct MoveOnly {
    std::unique_ptr<int> number;
    int* to;
    void operator()() { *to = *number; }
  };
  int result = 0;
  group.run(MoveOnly{std::unique_ptr<int>(new int(5)), &result});
  std::array<char, 1000> large{};
  large[999] = 'x';
  char last = 0;
  group.run([large, &last] { last = large[999]; });
  group.wait();
  EXPECT_EQ(result, 5);
  EXPECT_EQ(last, 'x');
}

TEST(TaskGroup, DestroysBodiesBeforeWaitReturns) {
  auto alive = std::make_shared<int>(1);
  for (int i = 0; i < 200; ++i) {
    tbb::task_group group;
    for (int j = 0; j < 8; ++j) group.run([alive] {});
    if (i % 2 == 0) group.cancel();
    group.wait();
    ASSERT_EQ(alive.use_count(), 1);
  }
}

TEST(TaskGroup, MayBeFilledAndWaitedForByManyThreads) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    tbb::task_group group;
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) group.run([&] { ++calls; });
        group.wait();
      });
    }
    for (auto& t : threads) t.join();
    group.wait();
    ASSERT_EQ(calls, 800);
  }
}

// The group's owner completes tasks with plain stores while another thread waits, asleep or not,
// and destroys the group as soon as it may.
TEST(TaskGroup, IsDestroyedByAnotherThreadThanItsOwner) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    auto* group = new tbb::task_group;
    std::atomic<int> calls{0};
    std::atomic<bool> begun{false}, go{false};
    std::thread owner([&] {
      tbb::task_group& g = *group;
      for (int i = 0; i < 3; ++i) {
        g.run([&] {
          begun = true;
          while (!go) std::this_thread::yield();
          ++calls;
        });
      }
      tbb::task_group own;  // its wait runs tasks of the other group
      own.run([] {});
      own.wait();
      tbb::parallel_invoke([] {}, [] {});
    });
    if (repeat % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    std::thread opener([&] {
      if (repeat % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      go = true;
    });
    owner.join();
    group->wait();
    delete group;
    opener.join();
    ASSERT_EQ(calls, 3);
  }
}

TEST(TaskGroup, RethrowsTheExceptionOfATask) {
  tbb::task_group group;
  for (int repeat = 0; repeat < 50; ++repeat) {
    for (int i = 0; i < 20; ++i) {
      group.run([i] {
        if (i == 7) throw std::runtime_error("seven");
      });
    }
    EXPECT_THROW(group.wait(), std::runtime_error);
    // Then the group is reset.
    EXPECT_FALSE(group.is_canceling());
    bool called = false;
    group.run([&] { called = true; });
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_TRUE(called);
  }
  EXPECT_THROW(group.run_and_wait([] { throw std::logic_error("here"); }), std::logic_error);
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(TaskGroup, Cancels) {
  tbb::task_group group;
  group.cancel();
  EXPECT_TRUE(group.is_canceling());
  int calls = 0;
  group.run([&] { ++calls; });
  EXPECT_EQ(group.run_and_wait([&] { ++calls; }), tbb::canceled);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(group.is_canceling());
  EXPECT_EQ(group.run_and_wait([&] {
    EXPECT_FALSE(tbb::is_current_task_group_canceling());
    group.cancel();
    EXPECT_TRUE(tbb::is_current_task_group_canceling());
  }),
            tbb::canceled);
}

TEST(TaskGroup, TheFunctionOfRunAndWaitIsWaitedFor) {
  tbb::task_group group;
  std::atomic<bool> inside{false}, has_ended{false};
  std::thread other([&] {
    group.run_and_wait([&] {
      inside = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      has_ended = true;
    });
  });
  while (!inside) std::this_thread::yield();
  group.wait();
  EXPECT_TRUE(has_ended);
  other.join();
}

// A thief may begin the task before the wait links the group's context.
TEST(TaskGroup, DoesNotRunTasksThatACancelledTaskStarts) {
  tbb::task_arena arena(2);
  arena.execute([] {
    for (int i = 0; i < 200; ++i) {
      tbb::task_group outer;
      tbb::task_group_context apart(tbb::task_group_context::isolated);
      tbb::task_group inside(apart);
      std::atomic<int> calls{0}, calls_apart{0};
      tbb::task_group_status status = tbb::not_complete;
      outer.run([&] {
        tbb::task_group group;
        outer.cancel();
        group.run([&] { ++calls; });
        inside.run([&] { ++calls_apart; });
        // Time for a thief to take the first task: with one processor there may be none.
        for (int n = 0; n < 50 && calls_apart == 0; ++n) std::this_thread::yield();
        status = group.wait();
        inside.wait();
        group.run([&] { ++calls; });
        for (int n = 0; n < 10; ++n) std::this_thread::yield();
        EXPECT_EQ(group.wait(), tbb::canceled);
      });
      outer.wait();
      if (status == tbb::not_complete) continue;  // it was cancelled before it began
      ASSERT_EQ(status, tbb::canceled);
      ASSERT_EQ(calls, 0);
      ASSERT_EQ(calls_apart, 1);
    }
  });
}

TEST(TaskGroup, IsCancelledWithTheContextOfItsWait) {
  tbb::task_group outer;
  tbb::task_group_status inner_status = tbb::not_complete;
  int calls = 0;
  EXPECT_EQ(outer.run_and_wait([&] {
    tbb::task_group inner;
    outer.cancel();
    inner.run([&] { ++calls; });
    inner_status = inner.wait();
  }),
            tbb::canceled);
  // The only task may have begun in another thread before the wait linked the two contexts.
  EXPECT_TRUE(inner_status == tbb::canceled || calls == 1);
}

// The group outlives the algorithm in which its tasks were started.
TEST(TaskGroup, OutlivesTheAlgorithmThatFilledIt) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    tbb::task_group group;
    std::atomic<int> calls{0};
    tbb::parallel_invoke([&] { group.run([&] { ++calls; }); },
                         [&] { group.run([&] { ++calls; }); });
    // makes the threads check the contexts above theirs
    tbb::task_group_context().cancel_group_execution();
    group.wait();
    ASSERT_EQ(calls, 2);
  }
}

TEST(TaskGroup, TakesAContextOfTheProgram) {
  tbb::task_group_context context;
  tbb::task_group group(context);
  context.cancel_group_execution();
  int calls = 0;
  group.run([&] { ++calls; });
  EXPECT_EQ(group.wait(), tbb::canceled);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(context.is_group_execution_cancelled());
}

TEST(TaskGroup, ReportsAMissingWait) {
  tbb::task_arena alone(1);  // so that no other thread runs the tasks first
  int calls = 0;
  bool is_missed = false;
  alone.execute([&] {
    try {
      tbb::task_group group;
      group.run([&] { ++calls; });
      group.run([&] { ++calls; });
    } catch (const tbb::missing_wait& e) {
      is_missed = true;
      EXPECT_NE(std::string(e.what()), "");
    }
  });
  EXPECT_TRUE(is_missed);
  EXPECT_EQ(calls, 0);
  EXPECT_THROW(
      {
        tbb::task_group group;
        group.run([] {});
        throw std::runtime_error("unwinds");
      },
      std::runtime_error);
}

// ---- handles ------------------------------------------------------------------------------------

TEST(TaskHandle, HoldsATaskUntilItIsSubmitted) {
  tbb::task_group group;
  std::atomic<int> calls{0};
  tbb::task_handle none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == nullptr && nullptr == none);
  tbb::task_handle h = group.defer([&] { ++calls; });
  EXPECT_TRUE(h != nullptr && nullptr != h && bool(h));
  tbb::task_handle moved = std::move(h);
  EXPECT_FALSE(h);
  EXPECT_EQ(calls, 0);
  group.run(std::move(moved));
  EXPECT_FALSE(moved);
  group.wait();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(group.run_and_wait(group.defer([&] { ++calls; })), tbb::complete);
  EXPECT_EQ(calls, 2);
}

TEST(TaskHandle, DropsAnUnsubmittedTask) {
  auto alive = std::make_shared<int>(1);
  tbb::task_group group;
  int calls = 0;
  {
    tbb::task_handle h = group.defer([alive, &calls] { ++calls; });
    EXPECT_EQ(alive.use_count(), 2);
    h = group.defer([&calls] { ++calls; });
    EXPECT_EQ(alive.use_count(), 1);
  }
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(calls, 0);
}

TEST(TaskHandle, IsWaitedFor) {
  tbb::task_group group;
  std::atomic<bool> submitted{false};
  tbb::task_handle h = group.defer([] {});
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    submitted = true;
    group.run(std::move(h));
  });
  group.wait();
  EXPECT_TRUE(submitted);
  other.join();
}

TEST(TaskHandle, IsReturnedToRunNext) {
  tbb::task_group group;
  std::atomic<int> calls{0};
  std::thread::id first, second;
  group.run([&] {
    first = std::this_thread::get_id();
    ++calls;
    return group.defer([&] {
      second = std::this_thread::get_id();
      ++calls;
    });
  });
  group.run([&] { return tbb::task_handle(); });
  group.wait();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(first, second);
}

// run_and_wait does what run and wait do.
TEST(TaskHandle, IsReturnedToRunAndWait) {
  tbb::task_group group, other;
  int calls = 0;
  EXPECT_EQ(group.run_and_wait([&] { return group.defer([&] { ++calls; }); }), tbb::complete);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(group.run_and_wait([&] { return tbb::task_handle(); }), tbb::complete);
  EXPECT_THROW(group.run_and_wait([&] { return group.defer([] { throw 1; }); }), int);
  group.run_and_wait([&] { return other.defer([&] { ++calls; }); });
  other.wait();
  EXPECT_EQ(calls, 2);
  tbb::isolated_task_group isolated;
  isolated.run_and_wait([&] { return isolated.defer([&] { ++calls; }); });
  EXPECT_EQ(calls, 3);
}

// ---- order --------------------------------------------------------------------------------------

TEST(TaskOrder, IsKept) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group group;
    std::atomic<int> time{0};
    int a = -1, b = -1, c = -1, d = -1;
    tbb::task_handle ha = group.defer([&] { a = time++; });
    tbb::task_handle hb = group.defer([&] { b = time++; });
    tbb::task_handle hc = group.defer([&] { c = time++; });
    tbb::task_handle hd = group.defer([&] { d = time++; });
    tbb::task_group::set_task_order(ha, hb);
    tbb::task_group::set_task_order(ha, hc);
    tbb::task_completion_handle end_of_b = hb;
    tbb::task_group::set_task_order(end_of_b, hd);
    tbb::task_group::set_task_order(hc, hd);
    EXPECT_EQ(tbb::task_group::get_status_of(end_of_b), tbb::not_complete);
    group.run(std::move(hd));
    group.run(std::move(hc));
    group.run(std::move(hb));
    group.run(std::move(ha));
    group.wait();
    EXPECT_EQ(a, 0);
    EXPECT_EQ(d, 3);
    EXPECT_EQ(b + c, 3);
    EXPECT_EQ(tbb::task_group::get_status_of(end_of_b), tbb::task_complete);
    // A task that has ended delays no other.
    tbb::task_handle late = group.defer([&] { ++time; });
    tbb::task_group::set_task_order(end_of_b, late);
    group.run(std::move(late));
    group.wait();
    EXPECT_EQ(time, 5);
  }
}

TEST(TaskOrder, OfTasksThatNeverRun) {
  tbb::task_group group;
  int calls = 0;
  tbb::task_handle first = group.defer([&] { ++calls; });
  tbb::task_handle second = group.defer([&] { ++calls; });
  tbb::task_handle third = group.defer([&] { ++calls; });
  tbb::task_group::set_task_order(first, second);
  tbb::task_group::set_task_order(first, third);
  group.run(std::move(second));
  third = tbb::task_handle();  // before the task that it would have followed
  first = tbb::task_handle();
  group.wait();
  EXPECT_EQ(calls, 1);
}

TEST(TaskOrder, IsTransferred) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group group;
    std::atomic<int> time{0};
    int last = -1, late = -1;
    tbb::task_handle first = group.defer([&] {
      tbb::task_handle inner = group.defer([&] {
        ++time;
        tbb::task_handle innermost = group.defer([&] { ++time; });
        tbb::task_group::transfer_this_task_completion_to(innermost);
        group.run(std::move(innermost));
      });
      tbb::task_group::transfer_this_task_completion_to(inner);
      ++time;
      group.run(std::move(inner));
    });
    tbb::task_handle next = group.defer([&] { last = time++; });
    tbb::task_completion_handle end = first, same = end;
    EXPECT_TRUE(end == same && end != nullptr && bool(end));
    EXPECT_TRUE(tbb::task_completion_handle() == nullptr);
    tbb::task_group::set_task_order(first, next);
    group.run(std::move(next));
    group.run(std::move(first));
    tbb::task_handle more = group.defer([&] { late = time++; });
    tbb::task_group::set_task_order(end, more);
    group.run(std::move(more));
    group.wait();
    EXPECT_GE(last, 3);
    EXPECT_GE(late, 3);
    EXPECT_EQ(time, 5);
  }
}

TEST(TaskOrder, IsKeptAfterExceptions) {
  tbb::task_group group;
  tbb::task_handle first = group.defer([] { throw std::runtime_error("first"); });
  int calls = 0;
  tbb::task_handle second = group.defer([&] { ++calls; });
  tbb::task_group::set_task_order(first, second);
  group.run(std::move(second));
  group.run(std::move(first));
  EXPECT_THROW(group.wait(), std::runtime_error);
  EXPECT_EQ(calls, 0);
}

// ---- isolated -----------------------------------------------------------------------------------

TEST(IsolatedTaskGroup, RunsNoOtherTasksWhileItWaits) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    static thread_local bool isolated = false;
    std::atomic<int> surprises{0}, calls{0};
    tbb::task_group outer;
    tbb::isolated_task_group inner;
    for (int i = 0; i < 10; ++i) {
      outer.run([&] {
        if (isolated) ++surprises;
      });
      inner.run([&] { ++calls; });
      inner.run(inner.defer([&] { ++calls; }));
    }
    isolated = true;
    EXPECT_EQ(inner.wait(), tbb::complete);
    EXPECT_EQ(inner.run_and_wait([&] { ++calls; }), tbb::complete);
    EXPECT_EQ(inner.run_and_wait(inner.defer([&] { ++calls; })), tbb::complete);
    isolated = false;
    outer.wait();
    EXPECT_EQ(calls, 22);
    ASSERT_EQ(surprises, 0);
  }
  tbb::isolated_task_group group;
  group.cancel();
  EXPECT_TRUE(group.is_canceling());
  EXPECT_EQ(group.wait(), tbb::canceled);
  group.run([] { throw std::runtime_error("isolated"); });
  EXPECT_THROW(group.wait(), std::runtime_error);
}

// ---- of TBB 2020 --------------------------------------------------------------------------------

TEST(StructuredTaskGroup, RunsHandles) {
  tbb::structured_task_group group;
  std::atomic<int> calls{0};
  auto a = tbb::make_task([&] { ++calls; });
  auto b = tbb::make_task([&] { calls += 10; });
  group.run(a);
  EXPECT_EQ(group.run_and_wait(b), tbb::complete);
  EXPECT_EQ(calls, 11);
  group.cancel();
  EXPECT_TRUE(group.is_canceling());
  EXPECT_EQ(group.wait(), tbb::canceled);
}

// Only the thread that destroys the group can run its task.
TEST(IsolatedTaskGroup, ReportsAMissingWaitInAnIsolationScope) {
  tbb::task_arena alone(1);
  bool is_missed = false;
  alone.execute([&] {
    tbb::this_task_arena::isolate([&] {
      try {
        tbb::isolated_task_group group;
        group.run([] {});
      } catch (const tbb::missing_wait&) {
        is_missed = true;
      }
    });
  });
  EXPECT_TRUE(is_missed);
}

}  // namespace
