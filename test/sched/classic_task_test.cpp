// SPDX-License-Identifier: Apache-2.0
// The tasks of TBB 2020: allocation, recycling, reference counts and waiting. The programs of the
// 2007 article are those of the lab.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../../bench/kernels/classic_for.hpp"
#include "../../bench/kernels/fibonacci/classic_fork.hpp"
#include "classic_tasks.hpp"
#include "helped.hpp"

namespace {

using bench::Tricks;
using tbb::task;

using test::Call;
using test::Leaf;
using test::run;

// ---- the article's programs ---------------------------------------------------------------------

constexpr std::uint64_t kFibonacci20 = 6765;

TEST(ClassicTask, FibonacciInItsFourForms) {
  EXPECT_EQ(fibonacci::parallel<Tricks::kPlain>(20, 2), kFibonacci20);
  EXPECT_EQ(fibonacci::parallel<Tricks::kContinuation>(20, 2), kFibonacci20);
  EXPECT_EQ(fibonacci::parallel<Tricks::kBypass>(20, 2), kFibonacci20);
  EXPECT_EQ(fibonacci::parallel<Tricks::kRecycling>(20, 2), kFibonacci20);
}

TEST(ClassicTask, FibonacciInManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([i] {
      for (int n = 0; n < 5; ++n) {
        EXPECT_EQ(i % 2 == 0 ? fibonacci::parallel<Tricks::kPlain>(18, 2)
                             : fibonacci::parallel<Tricks::kRecycling>(18, 2),
                  2584U);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

template <Tricks kTricks, typename Partition>
void visit_all(const Partition& partition) {
  std::vector<std::atomic<int>> visits(5000);
  bench::classic_for<kTricks>(
      tbb::blocked_range<std::size_t>(0, visits.size(), 7),
      [&](const tbb::blocked_range<std::size_t>& part) {
        for (std::size_t i = part.begin(); i != part.end(); ++i) ++visits[i];
      },
      partition);
  for (const std::atomic<int>& v : visits) EXPECT_EQ(v, 1);
}

TEST(ClassicTask, LoopInItsFourForms) {
  visit_all<Tricks::kPlain>(bench::SimplePartition());
  visit_all<Tricks::kContinuation>(bench::SimplePartition());
  visit_all<Tricks::kBypass>(bench::SimplePartition());
  visit_all<Tricks::kRecycling>(bench::SimplePartition());
  visit_all<Tricks::kPlain>(bench::AutoPartition(4));
  visit_all<Tricks::kRecycling>(bench::AutoPartition(4));
}

// ---- allocation ---------------------------------------------------------------------------------

TEST(ClassicTask, RelationsAndStates) {
  run([](Call& t) {
    EXPECT_EQ(&task::self(), &t);
    // The task that stands for the wait.
    EXPECT_NE(t.parent(), nullptr);
    EXPECT_EQ(t.parent()->parent(), nullptr);
    EXPECT_EQ(t.parent()->group(), t.group());
    EXPECT_EQ(t.parent()->ref_count(), 2);
    EXPECT_FALSE(t.parent()->is_cancelled());
    EXPECT_EQ(t.state(), task::executing);
    EXPECT_EQ(t.ref_count(), 0);
    EXPECT_FALSE(t.is_cancelled());
    task& child = *new (t.allocate_child()) tbb::empty_task;
    EXPECT_EQ(child.parent(), &t);
    EXPECT_EQ(child.group(), t.group());
    EXPECT_EQ(child.state(), task::allocated);
    task& root = *new (task::allocate_root()) tbb::empty_task;
    EXPECT_EQ(root.parent(), nullptr);
    EXPECT_EQ(root.group(), t.group());
    root.set_parent(&t);
    EXPECT_EQ(root.parent(), &t);
    root.set_parent(nullptr);
    task::destroy(root);
    task& continuation = *new (child.allocate_continuation()) tbb::empty_task;
    EXPECT_EQ(continuation.parent(), &t);
    EXPECT_EQ(child.parent(), nullptr);
    task::destroy(child);
    t.set_ref_count(2);
    EXPECT_EQ(t.ref_count(), 2);
    t.spawn_and_wait_for_all(continuation);
    EXPECT_EQ(t.ref_count(), 0);
    return nullptr;
  });
}

TEST(ClassicTask, ReferenceCount) {
  task& t = *new (task::allocate_root()) tbb::empty_task;
  t.set_ref_count(5);
  t.increment_ref_count();
  EXPECT_EQ(t.ref_count(), 6);
  EXPECT_EQ(t.add_ref_count(3), 9);
  EXPECT_EQ(t.ref_count(), 9);
  EXPECT_EQ(t.add_ref_count(-2), 7);
  EXPECT_EQ(t.ref_count(), 7);
  EXPECT_EQ(t.decrement_ref_count(), 6);
  t.set_ref_count(0);
  task::destroy(t);
}

TEST(ClassicTask, ADestroyedChildLowersTheCountAndDoesNotRunTheParent) {
  std::atomic<int> runs{0};
  test::Balance balance;
  task& parent = *new (task::allocate_root()) Leaf(balance, runs);
  task& child = *new (task::allocate_additional_child_of(parent)) Leaf(balance, runs);
  EXPECT_EQ(parent.ref_count(), 1);
  task::destroy(child);
  EXPECT_EQ(parent.ref_count(), 0);
  EXPECT_EQ(balance.alive, 1);
  parent.destroy(parent);
  EXPECT_EQ(balance.alive, 0);
  EXPECT_EQ(runs, 0);
}

struct Thrower : tbb::empty_task {
  Thrower() { throw std::runtime_error("constructor"); }
};

TEST(ClassicTask, AThrowingConstructorLeaksNothing) {
  EXPECT_THROW(new (task::allocate_root()) Thrower, std::runtime_error);
  tbb::task_group_context group;
  EXPECT_THROW(new (task::allocate_root(group)) Thrower, std::runtime_error);
  task& parent = *new (task::allocate_root()) tbb::empty_task;
  EXPECT_THROW(new (task::allocate_additional_child_of(parent)) Thrower, std::runtime_error);
  EXPECT_EQ(parent.ref_count(), 0);
  EXPECT_THROW(new (parent.allocate_child()) Thrower, std::runtime_error);
  task& child = *new (parent.allocate_child()) tbb::empty_task;
  EXPECT_THROW(new (child.allocate_continuation()) Thrower, std::runtime_error);
  EXPECT_EQ(child.parent(), &parent);
  child.set_parent(nullptr);
  task::destroy(child);
  task::destroy(parent);
}

template <std::size_t kBytes>
class Sized : public task {
 public:
  Sized() { std::memset(bytes_, 0x5a, kBytes); }
  ~Sized() override {
    for (const unsigned char b : bytes_) EXPECT_EQ(b, 0x5a);
  }
  task* execute() override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 32, 0U);
    return nullptr;
  }

 private:
  unsigned char bytes_[kBytes];
};

TEST(ClassicTask, OfAnySize) {
  tbb::task_list list;
  for (int i = 0; i < 100; ++i) {
    list.push_back(*new (task::allocate_root()) Sized<1>);
    list.push_back(*new (task::allocate_root()) Sized<24>);
    list.push_back(*new (task::allocate_root()) Sized<25>);
    list.push_back(*new (task::allocate_root()) Sized<216>);
    list.push_back(*new (task::allocate_root()) Sized<217>);
    list.push_back(*new (task::allocate_root()) Sized<5000>);
  }
  task::spawn_root_and_wait(list);
  EXPECT_TRUE(list.empty());
}

// ---- what happens after execute()
// --------------------------------------------------------------------

TEST(ClassicTask, EveryTaskIsDestroyedOnce) {
  test::Balance balance;
  std::atomic<int> runs{0};
  run([&](Call& t) {
    constexpr int kMany = 20000;
    t.set_ref_count(kMany + 1);
    for (int i = 0; i < kMany; ++i) task::spawn(*new (t.allocate_child()) Leaf(balance, runs));
    t.wait_for_all();
    EXPECT_EQ(runs, kMany);
    EXPECT_EQ(balance.alive, 0);
    return nullptr;
  });
}

TEST(ClassicTask, ChainOfAMillionUsesNoStack) {
  int left = 1'000'000;
  std::function<task*(Call&)> f = [&](Call& t) -> task* {
    if (--left == 0) return nullptr;
    if (left % 2 == 0) return new (t.allocate_continuation()) Call(f);
    task& next = *new (t.allocate_continuation()) tbb::empty_task;
    next.set_ref_count(1);
    return new (next.allocate_child()) Call(f);
  };
  run(f);
  EXPECT_EQ(left, 0);
}

// A child returns a task and is also the last child of its parent: both tasks must run.
TEST(ClassicTask, BypassAndContinuationAtTheSameTime) {
  std::atomic<int> runs{0};
  test::Balance balance;
  run([&](Call& t) {
    t.set_ref_count(3);
    task& continuation = *new (t.allocate_child()) Leaf(balance, runs);
    task& bypassed = *new (t.allocate_child()) Leaf(balance, runs);
    continuation.set_ref_count(1);
    task& child = *new (continuation.allocate_child()) Call([&](Call&) { return &bypassed; });
    t.spawn_and_wait_for_all(child);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(balance.alive, 0);
    return nullptr;
  });
}

TEST(ClassicTask, RecycledToReexecute) {
  int runs = 0;
  std::atomic<int> others{0};
  test::Balance balance;
  run([&](Call& t) -> task* {
    if (++runs == 5) return nullptr;
    t.recycle_to_reexecute();
    EXPECT_EQ(t.state(), task::reexecute);
    return runs == 3 ? nullptr : new (task::allocate_root()) Leaf(balance, others);
  });
  EXPECT_EQ(runs, 5);
  EXPECT_TRUE(test::wait_for([&] { return others == 3 && balance.alive == 0; }, 10000));
}

TEST(ClassicTask, RecycledAsContinuation) {
  for (const bool safe : {false, true}) {
    int calls = 0;
    std::atomic<int> runs{0};
    test::Balance balance;
    run([&](Call& t) -> task* {
      if (++calls == 2) {
        EXPECT_EQ(runs, 3);
        EXPECT_EQ(balance.alive, 0);
        return nullptr;
      }
      task& last = *new (t.allocate_child()) Leaf(balance, runs);
      task& first = *new (t.allocate_child()) Leaf(balance, runs);
      task& second = *new (t.allocate_child()) Leaf(balance, runs);
      if (safe) {
        t.recycle_as_safe_continuation();
        EXPECT_EQ(t.state(), task::recycle);
        t.set_ref_count(4);
      } else {
        t.recycle_as_continuation();
        t.set_ref_count(3);
      }
      task::spawn(first);
      task::spawn(second);
      if (!safe) return &last;
      task::spawn(last);
      test::wait_for([&] { return runs == 3; }, 2);
      return nullptr;
    });
    EXPECT_EQ(calls, 2);
  }
}

// Like enqueued tasks, it leaves the group of the enclosing algorithm.
TEST(ClassicTask, RecycledToEnqueue) {
  int calls = 0;
  std::atomic<int> runs{0};
  test::Balance balance;
  tbb::parallel_invoke(
      [&] {
        run([&](Call& t) -> task* {
          static tbb::task_group_context* first;
          if (++calls == 2) {
            EXPECT_EQ(runs, 2);
            EXPECT_EQ(balance.alive, 0);
            EXPECT_NE(t.group(), first);
            EXPECT_EQ(t.state(), task::executing);
            return nullptr;
          }
          first = t.group();
          t.recycle_to_enqueue();
          EXPECT_EQ(t.state(), task::to_enqueue);
          t.set_ref_count(3);
          task::spawn(*new (t.allocate_child()) Leaf(balance, runs));
          task::spawn(*new (t.allocate_child()) Leaf(balance, runs));
          return nullptr;
        });
      },
      [] {});
  EXPECT_EQ(calls, 2);
}

// Tasks that run inside the execute() of a recycled task are not recycled with it.
TEST(ClassicTask, NestedWaitAfterRecycling) {
  int calls = 0;
  std::atomic<int> runs{0};
  test::Balance balance;
  run([&](Call& t) -> task* {
    if (++calls == 2) return nullptr;
    t.recycle_as_continuation();
    t.set_ref_count(1);
    task::spawn_root_and_wait(*new (task::allocate_root()) Leaf(balance, runs));
    EXPECT_EQ(balance.alive, 0);
    EXPECT_EQ(t.state(), task::allocated);
    return new (t.allocate_child()) tbb::empty_task;
  });
  EXPECT_EQ(calls, 2);
}

// The children have ended before the parent's execute() returns, or another thread runs them.
TEST(ClassicTask, SafeContinuationsOfManyTasks) {
  std::atomic<int> calls{0};
  run([&](Call& t) {
    constexpr int kMany = 3000;
    t.set_ref_count(kMany + 1);
    for (int i = 0; i < kMany; ++i) {
      task::spawn(*new (t.allocate_child()) Call([&calls, done = false](Call& c) mutable -> task* {
        if (done) {
          ++calls;
          return nullptr;
        }
        done = true;
        c.recycle_as_safe_continuation();
        c.set_ref_count(3);
        task::spawn(*new (c.allocate_child()) tbb::empty_task);
        task::spawn(*new (c.allocate_child()) tbb::empty_task);
        return nullptr;
      }));
    }
    t.wait_for_all();
    EXPECT_EQ(calls, kMany);
    return nullptr;
  });
}

// The task spawns itself in its own execute(), so another thread may run it before that returns.
TEST(ClassicTask, RecycledAsChildAndSpawned) {
  std::atomic<int> calls{0};
  run([&](Call& t) {
    constexpr int kMany = 300;
    t.set_ref_count(kMany + 1);
    for (int i = 0; i < kMany; ++i) {
      task::spawn(*new (t.allocate_child()) Call([&calls, round = 0](Call& c) mutable -> task* {
        ++calls;
        if (++round == 4) return nullptr;
        task& join = *new (c.allocate_continuation()) tbb::empty_task;
        join.set_ref_count(1);
        c.recycle_as_child_of(join);
        task::spawn(c);
        return nullptr;
      }));
    }
    t.wait_for_all();
    EXPECT_EQ(calls, 4 * kMany);
    return nullptr;
  });
}

// ---- lists and additional children --------------------------------------------------------------

TEST(ClassicTask, List) {
  std::atomic<int> runs{0};
  test::Balance balance;
  tbb::task_list list;
  EXPECT_TRUE(list.empty());
  task& a = *new (task::allocate_root()) Leaf(balance, runs);
  task& b = *new (task::allocate_root()) Leaf(balance, runs);
  task& c = *new (task::allocate_root()) Leaf(balance, runs);
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(&list.pop_front(), &a);
  list.push_back(a);
  EXPECT_EQ(&list.pop_front(), &b);
  list.clear();
  EXPECT_TRUE(list.empty());
  for (task* t : {&a, &b, &c}) list.push_back(*t);
  task::spawn_root_and_wait(list);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(balance.alive, 0);
  task::spawn_root_and_wait(list);
  run([&](Call& t) {
    t.set_ref_count(1);
    t.spawn_and_wait_for_all(list);
    for (int i = 0; i < 500; ++i) list.push_back(*new (t.allocate_child()) Leaf(balance, runs));
    t.set_ref_count(501);
    t.spawn_and_wait_for_all(list);
    EXPECT_EQ(runs, 503);
    return nullptr;
  });
  EXPECT_EQ(balance.alive, 0);
}

// A root replaces itself by hand, without allocate_continuation, and adds children to its parent.
// The wait includes them all.
TEST(ClassicTask, ARootPassesItsParentOn) {
  std::atomic<int> runs{0};
  test::Balance balance;
  run([&](Call& t) -> task* {
    for (int i = 0; i < 10; ++i) {
      task::spawn(*new (task::allocate_additional_child_of(*t.parent())) Leaf(balance, runs));
    }
    task& next = *new (task::allocate_root()) Leaf(balance, runs);
    next.set_parent(t.parent());
    t.set_parent(nullptr);
    return &next;
  });
  EXPECT_EQ(runs, 11);
  EXPECT_EQ(balance.alive, 0);
}

// The task that stands for a thread has a reference for a wait, from the beginning and after a
// wait.
TEST(ClassicTask, SelfInANewThread) {
  std::atomic<int> runs{0};
  test::Balance balance;
  const auto use_self = [&] {
    for (int round = 1; round <= 3; ++round) {
      task& self = task::self();
      EXPECT_EQ(self.ref_count(), 1);
      EXPECT_EQ(self.parent(), nullptr);
      EXPECT_EQ(self.state(), task::executing);
      task::spawn(*new (task::allocate_additional_child_of(self)) Leaf(balance, runs));
      self.increment_ref_count();
      task::spawn(*new (self.allocate_child()) Leaf(balance, runs));
      self.wait_for_all();
      EXPECT_EQ(runs.exchange(0), 2);
    }
  };
  std::thread(use_self).join();
  tbb::task_arena(1).execute(use_self);
  EXPECT_EQ(balance.alive, 0);
}

TEST(ClassicTask, ARootThatIsOnlyWaitedForIsNotExecuted) {
  std::atomic<int> runs{0};
  test::Balance balance;
  task& root = *new (task::allocate_root()) Leaf(balance, runs);
  for (int round = 0; round < 3; ++round) {
    root.set_ref_count(1);
    for (int i = 0; i < 1000; ++i) {
      task::spawn(*new (task::allocate_additional_child_of(root)) Leaf(balance, runs));
    }
    root.wait_for_all();
    EXPECT_EQ(runs, 1000 * (round + 1));
    EXPECT_EQ(balance.alive, 1);
  }
  root.set_ref_count(1);
  root.wait_for_all();
  task::destroy(root);
  EXPECT_EQ(balance.alive, 0);
}

// Children add further children to their own parent.
TEST(ClassicTask, AdditionalChildrenFromManyThreads) {
  std::atomic<int> runs{0};
  std::function<task*(Call&)> f;
  run([&](Call& t) {
    f = [&](Call&) -> task* {
      const int n = ++runs;
      for (int i = 0; i < 2 && 2 * n + i <= 10000; ++i) {
        task::spawn(*new (task::allocate_additional_child_of(t)) Call(f));
      }
      return nullptr;
    };
    t.set_ref_count(2);
    t.spawn_and_wait_for_all(*new (t.allocate_child()) Call(f));
    return nullptr;
  });
  EXPECT_EQ(runs, 10000);
}

}  // namespace
