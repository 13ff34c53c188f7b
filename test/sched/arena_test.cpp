// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using tbb::this_task_arena::current_thread_index;

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(Arena, ReturnsWhatTheFunctionReturns) {
  tbb::task_arena arena(2);
  EXPECT_FALSE(arena.is_active());
  EXPECT_EQ(arena.execute([] { return 7; }), 7);
  EXPECT_TRUE(arena.is_active());
  int x = 3;
  int& same = arena.execute([&]() -> int& { return x; });
  EXPECT_EQ(&same, &x);
  std::unique_ptr<int> moved = arena.execute([] { return std::unique_ptr<int>(new int(4)); });
  EXPECT_EQ(*moved, 4);
  struct MoveOnly {
    std::unique_ptr<int> p{new int(9)};
    int operator()() { return *p; }
  };
  EXPECT_EQ(arena.execute(MoveOnly()), 9);
  EXPECT_THROW(arena.execute([] { throw std::runtime_error("inside"); }), std::runtime_error);
  EXPECT_EQ(arena.execute([] { return current_thread_index(); }), 0);
}

TEST(Arena, KnowsItsWidth) {
  EXPECT_GE(tbb::this_task_arena::max_concurrency(), 1);
  EXPECT_EQ(tbb::task_arena(5).max_concurrency(), 5);
  EXPECT_EQ(tbb::task_arena().max_concurrency(), tbb::info::default_concurrency());
  tbb::task_arena::constraints limits;
  limits.set_max_concurrency(3);
  tbb::task_arena arena(limits, 0, tbb::task_arena::priority::high);
  EXPECT_EQ(arena.max_concurrency(), 3);
  EXPECT_EQ(arena.execute([] { return tbb::this_task_arena::max_concurrency(); }), 3);
  tbb::task_arena copy(arena);
  EXPECT_EQ(copy.max_concurrency(), 3);
  EXPECT_FALSE(copy.is_active());
}

TEST(Arena, IsInitializedAndTerminated) {
  tbb::task_arena arena;
  arena.initialize(3, 0, tbb::task_arena::priority::low);
  EXPECT_TRUE(arena.is_active());
  EXPECT_EQ(arena.max_concurrency(), 3);
  arena.initialize(4);  // no effect: the arena is active
  EXPECT_EQ(arena.max_concurrency(), 3);
  arena.terminate();
  EXPECT_FALSE(arena.is_active());
  EXPECT_EQ(arena.execute([] { return 1; }), 1);
}

// The arena object ends during a call in its arena. The call continues there, and the arena ends
// with it.
TEST(Arena, TerminatesInItsOwnCall) {
  for (int width = 1; width < 3; ++width) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      auto arena = std::make_unique<tbb::task_arena>(width);
      std::atomic<int> calls{0};
      const int result = arena->execute([&] {
        tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; });
        arena->terminate();
        EXPECT_FALSE(arena->is_active());
        if (repeat % 2 == 0) {
          EXPECT_EQ(arena->execute([] { return 6; }), 6);  // in another arena
          EXPECT_TRUE(arena->is_active());
        }
        if (repeat % 3 == 0) arena.reset();
        tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; });
        EXPECT_EQ(tbb::this_task_arena::max_concurrency(), width);
        return 7;
      });
      EXPECT_EQ(result, 7);
      EXPECT_EQ(calls, 4);
    }
  }
}

// Also if another thread makes the call, and if a task that is being enqueued ends the object.
TEST(Arena, TerminatesInItsTasks) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_arena arena(1);
    std::atomic<bool> done{false};
    arena.enqueue([&] {
      arena.terminate();
      done = true;
    });
    while (!done) std::this_thread::yield();
    EXPECT_FALSE(arena.is_active());
  }
  tbb::task_arena arena(1);
  std::atomic<bool> inside{false}, over{false};
  std::thread other([&] {
    arena.execute([&] {
      inside = true;
      while (!over) tbb::parallel_invoke([] { std::this_thread::yield(); }, [] {});
    });
  });
  while (!inside) std::this_thread::yield();
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    over = true;
  });
  arena.execute([&] { arena.terminate(); });
  EXPECT_FALSE(arena.is_active());
  late.join();
  other.join();
}

TEST(Arena, Attaches) {
  tbb::task_arena arena(3);
  arena.execute([] {
    tbb::task_arena same{tbb::attach()};
    EXPECT_TRUE(same.is_active());
    EXPECT_EQ(same.max_concurrency(), 3);
    const int index = current_thread_index();
    EXPECT_EQ(same.execute([] { return current_thread_index(); }), index);
  });
  tbb::task_arena later;
  later.initialize(tbb::task_arena::attach());
  EXPECT_TRUE(later.is_active());
  std::thread([] {
    tbb::task_arena fresh{tbb::attach()};
    EXPECT_FALSE(fresh.is_active());
    fresh.initialize(3, 1);
    EXPECT_EQ(fresh.max_concurrency(), 3);
    EXPECT_EQ(fresh.execute([] { return 2; }), 2);
  }).join();
  std::thread([] {
    tbb::task_arena made;
    made.initialize(tbb::attach());
    EXPECT_TRUE(made.is_active());
  }).join();
}

TEST(Arena, NestsAndReturns) {
  tbb::task_arena outer(2), inner(4);
  tbb::task_group group;
  std::atomic<int> calls{0};
  outer.execute([&] {
    group.run([&] { ++calls; });
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 2);
    inner.execute([&] {
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 4);
      outer.execute([&] {
        EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 2);
        tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; });
      });
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 4);
    });
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 2);
    group.wait();
  });
  EXPECT_EQ(calls, 3);
}

TEST(Arena, RunsEnqueuedTasksWhileTheProgramSleeps) {
  for (const int width : {1, 2, 4}) {
    for (const unsigned reserved : {0U, 1U}) {
      tbb::task_arena arena(width, reserved);
      std::atomic<bool> done{false};
      arena.enqueue([&] { done = true; });
      wait_for(done);
      done = false;
      arena.enqueue([&] { done = true; }, tbb::task_arena::priority::normal);
      wait_for(done);
      // Again, this time from an enqueued task.
      done = false;
      arena.enqueue([&] { tbb::this_task_arena::enqueue([&] { done = true; }); });
      wait_for(done);
    }
  }
}

TEST(Arena, RunsTasksEnqueuedBeforeItsEnd) {
  std::atomic<int> calls{0};
  for (int i = 0; i < 100; ++i) {
    tbb::task_arena arena(1 + i % 3);
    arena.enqueue([&] { ++calls; });
  }
  while (calls != 100) std::this_thread::yield();
}

TEST(Arena, EnqueuesTasksOfGroups) {
  tbb::task_arena arena(2);
  tbb::task_group group;
  std::atomic<int> calls{0};
  for (int i = 0; i < 50; ++i) {
    arena.enqueue(group.defer([&] { ++calls; }));
    arena.enqueue([&] { ++calls; }, group);
  }
  EXPECT_EQ(arena.wait_for(group), tbb::complete);
  EXPECT_EQ(calls, 100);
  arena.execute([&] {
    tbb::this_task_arena::enqueue(group.defer([&] { ++calls; }));
    tbb::this_task_arena::enqueue([&] { ++calls; }, group);
  });
  EXPECT_EQ(group.wait(), tbb::complete);  // wait outside the arena
  EXPECT_EQ(calls, 102);
  arena.enqueue([] { throw std::logic_error("task"); }, group);
  EXPECT_THROW(arena.wait_for(group), std::logic_error);
}

TEST(Arena, RunsTasksWhereTheyWereStarted) {
  tbb::task_arena arena(2);
  tbb::task_group group;
  std::atomic<int> strangers{0}, calls{0};
  arena.execute([&] {
    for (int i = 0; i < 200; ++i) {
      group.run([&] {
        ++calls;
        if (tbb::this_task_arena::max_concurrency() != 2) ++strangers;
        if (current_thread_index() < 0 || current_thread_index() > 1) ++strangers;
      });
    }
  });
  arena.execute([&] { group.wait(); });
  EXPECT_EQ(calls, 200);
  EXPECT_EQ(strangers, 0);
}

// The only slot is taken, so the thread that holds it makes the call, or this one does later.
TEST(Arena, DelegatesWhenNoSlotIsFree) {
  tbb::task_arena arena(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<bool> inside{false}, go{false};
    std::thread holder([&] {
      arena.execute([&] {
        inside = true;
        wait_for(go);
      });
    });
    wait_for(inside);
    int called = 0;
    std::thread opener([&] {
      if (repeat % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      go = true;
    });
    EXPECT_EQ(arena.execute([&] { return ++called; }), 1);
    EXPECT_THROW(arena.execute([&] { throw std::runtime_error("delegated"); }), std::runtime_error);
    opener.join();
    holder.join();
    EXPECT_EQ(called, 1);
  }
}

TEST(Arena, IsEnteredByManyThreads) {
  tbb::task_arena arena(2);
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        arena.execute([&] { tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; }); });
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(calls, 1600);
}

// Two threads wait in each other's arena while all slots there are taken.
TEST(Arena, DelegatesBothWays) {
  tbb::task_arena a(1), b(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> inside{0};
    int calls[2] = {};
    std::thread one([&] {
      a.execute([&] {
        ++inside;
        while (inside != 2) std::this_thread::yield();
        b.execute([&] { ++calls[0]; });
      });
    });
    std::thread two([&] {
      b.execute([&] {
        ++inside;
        while (inside != 2) std::this_thread::yield();
        a.execute([&] { ++calls[1]; });
      });
    });
    one.join();
    two.join();
    EXPECT_EQ(calls[0] + calls[1], 2);
  }
}

// A thread never waits for a slot in an arena where it has one.
TEST(Arena, IsEnteredAgainInTheSameSlot) {
  tbb::task_arena arenas[] = {{2, 2}, {2, 2}};
  const std::function<int(int)> enter = [&](int depth) {
    return arenas[depth % 2].execute([&] {
      std::atomic<int> calls{0};
      tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; });
      EXPECT_EQ(calls, 2);
      EXPECT_EQ(current_thread_index(), 0);
      return depth == 0 ? 1 : 1 + enter(depth - 1);
    });
  };
  EXPECT_EQ(enter(9), 10);
}

// Tasks of each arena call into the other one. There are as many threads as slots.
TEST(Arena, ThreadsNestBothWays) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    tbb::task_arena a(3, 3), b(3, 3);
    std::atomic<int> calls{0};
    const std::function<void(tbb::task_arena&, tbb::task_arena&, int)> nest =
        [&](tbb::task_arena& here, tbb::task_arena& other, int depth) {
          if (depth == 0) {
            ++calls;
            return;
          }
          here.execute([&] {
            tbb::parallel_invoke([&] { nest(other, here, depth - 1); },
                                 [&] { nest(other, here, depth - 1); });
          });
        };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] { i % 2 == 0 ? nest(a, b, 5) : nest(b, a, 5); });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(calls, 3 * 32);
  }
}

// Two threads make each other's calls, which call back.
TEST(Arena, CallsDelegatedInDelegatedCalls) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_arena arenas[] = {{1, 0}, {1, 0}};
    const std::function<int(int)> enter = [&](int depth) -> int {
      return arenas[depth % 2].execute([&] { return depth < 2 ? 1 : 1 + enter(depth - 1); });
    };
    int depths[2] = {};
    std::thread one([&] { depths[0] = enter(11); });
    std::thread two([&] { depths[1] = enter(10); });
    one.join();
    two.join();
    EXPECT_EQ(depths[0], 11);
    EXPECT_EQ(depths[1], 10);
  }
}

// ---- constraints --------------------------------------------------------------------------------

// ---- isolation ----------------------------------------------------------------------------------

TEST(Isolate, ReturnsAndThrows) {
  EXPECT_EQ(tbb::this_task_arena::isolate([] { return 5; }), 5);
  EXPECT_THROW(tbb::this_task_arena::isolate([] { throw std::runtime_error("isolated"); }),
               std::runtime_error);
  std::unique_ptr<int> p = tbb::this_task_arena::isolate([] { return std::unique_ptr<int>(); });
  EXPECT_EQ(p, nullptr);
}

TEST(Isolate, RunsNoOuterTasks) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    tbb::task_group outer;
    std::atomic<int> inner_calls{0};
    thread_local bool isolated = false;
    std::atomic<int> surprises{0};
    for (int i = 0; i < 20; ++i) {
      outer.run([&] {
        if (isolated) ++surprises;
      });
    }
    isolated = true;
    tbb::this_task_arena::isolate([&] {
      tbb::task_group inner;
      for (int i = 0; i < 10; ++i) inner.run([&] { ++inner_calls; });
      inner.wait();
    });
    isolated = false;
    EXPECT_EQ(inner_calls, 10);
    outer.wait();
    ASSERT_EQ(surprises, 0);
  }
}

TEST(Isolate, EndsInACallOfExecute) {
  // With one thread, only the thread that waits can run the task, which is outside of the scope.
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_group outer;
  bool has_run = false;
  outer.run([&] { has_run = true; });
  tbb::task_arena here{tbb::attach()};
  tbb::this_task_arena::isolate([&] { here.execute([&] { outer.wait(); }); });
  EXPECT_TRUE(has_run);
}

// ---- the index of a thread ----------------------------------------------------------------------

void expect_index(const tbb::task_arena& arena, std::atomic<int>& calls) {
  const int index = tbb::this_task_arena::current_thread_index();
  EXPECT_GE(index, 0);
  EXPECT_LT(index, tbb::this_task_arena::max_concurrency());
  EXPECT_LT(index, arena.max_concurrency());
  ++calls;
}

void wait_for_calls(const std::atomic<int>& calls, int number) {
  while (calls != number) std::this_thread::yield();
}

TEST(ThreadIndex, IsBelowMaxConcurrencyInAnyWorker) {
  for (int width = 1; width <= 3; ++width) {
    for (int reserved = 0; reserved <= width; ++reserved) {
      tbb::task_arena arena(width, unsigned(reserved));
      std::atomic<int> calls{0};
      for (int i = 0; i < 50; ++i) arena.enqueue([&] { expect_index(arena, calls); });
      wait_for_calls(calls, 50);
      EXPECT_EQ(arena.max_concurrency(), width);
      EXPECT_EQ(arena.execute([] { return tbb::this_task_arena::max_concurrency(); }), width);
    }
  }
}

// External threads have all slots. The task begins when one of them waits, or leaves.
TEST(ThreadIndex, IsBelowMaxConcurrencyInAFullArena) {
  for (const bool waits : {false, true}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      constexpr int kWidth = 2;
      tbb::task_arena arena(kWidth, kWidth);
      std::atomic<int> inside{0}, calls{0};
      std::atomic<bool> may_go_on{false};
      tbb::task_group group;
      std::vector<std::thread> threads;
      for (int i = 0; i < kWidth; ++i) {
        threads.emplace_back([&] {
          arena.execute([&] {
            ++inside;
            while (!may_go_on) std::this_thread::yield();
            if (waits) group.wait();
          });
        });
      }
      wait_for_calls(inside, kWidth);
      for (int i = 0; i < 10; ++i) {
        arena.enqueue(group.defer([&] { expect_index(arena, calls); }));
      }
      may_go_on = true;
      for (std::thread& thread : threads) thread.join();
      wait_for_calls(calls, 10);
      group.wait();
    }
  }
}

// The only external thread stays in its slot, and does not wait.
TEST(ThreadIndex, EnqueuedTasksRunInAnArenaOfOneThread) {
  tbb::task_arena arena(1);
  std::atomic<int> calls{0};
  arena.execute([&] {
    arena.enqueue([&] { expect_index(arena, calls); });
    wait_for_calls(calls, 1);
    expect_index(arena, calls);
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 1);
  });
}

}  // namespace
