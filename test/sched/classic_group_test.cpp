// SPDX-License-Identifier: Apache-2.0
// Groups of classic tasks: cancellation, exceptions, and task::self() where no classic task runs.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "classic_tasks.hpp"
#include "helped.hpp"

namespace {

using tbb::task;
using tbb::task_group_context;
using test::Call;
using test::Leaf;
using test::run;

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- cancellation -------------------------------------------------------------------------------

TEST(ClassicGroup, CancelledTasksAreDestroyedAndCounted) {
  test::Balance balance;
  std::atomic<int> runs{0};
  task_group_context group;
  task& root = *new (task::allocate_root(group)) Call([&](Call& t) {
    EXPECT_EQ(t.group(), &group);
    EXPECT_EQ(t.context(), &group);
    EXPECT_TRUE(t.cancel_group_execution());
    EXPECT_FALSE(t.cancel_group_execution());
    EXPECT_TRUE(t.is_cancelled());
    t.set_ref_count(101);
    for (int i = 0; i < 50; ++i) task::spawn(*new (t.allocate_child()) Leaf(balance, runs));
    for (int i = 0; i < 50; ++i) {
      task& c = *new (t.allocate_child()) Leaf(balance, runs);
      c.set_ref_count(1);
      task::spawn(*new (c.allocate_child()) Leaf(balance, runs));
    }
    t.wait_for_all();
    return nullptr;
  });
  task::spawn_root_and_wait(root);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(balance.alive, 0);
  EXPECT_EQ(balance.made, 150);
  EXPECT_TRUE(group.is_group_execution_cancelled());
  task::spawn_root_and_wait(*new (task::allocate_root(group)) Leaf(balance, runs));
  EXPECT_EQ(runs, 0);
  group.reset();
  task::spawn_root_and_wait(*new (task::allocate_root(group)) Leaf(balance, runs));
  EXPECT_EQ(runs, 1);
}

TEST(ClassicGroup, InnerGroupIsCancelledWithTheOuterOne) {
  std::atomic<int> runs{0};
  test::Balance balance;
  task_group_context outer;
  task& root = *new (task::allocate_root(outer)) Call([&](Call& t) {
    task_group_context bound;
    task_group_context isolated(task_group_context::isolated);
    t.cancel_group_execution();
    task::spawn_root_and_wait(*new (task::allocate_root(bound)) Leaf(balance, runs));
    EXPECT_EQ(runs, 0);
    task::spawn_root_and_wait(*new (task::allocate_root(isolated)) Leaf(balance, runs));
    EXPECT_EQ(runs, 1);
    return nullptr;
  });
  task::spawn_root_and_wait(root);
  EXPECT_EQ(balance.alive, 0);
}

TEST(ClassicGroup, ChangedGroup) {
  std::atomic<int> runs{0};
  test::Balance balance;
  task_group_context cancelled;
  cancelled.cancel_group_execution();
  run([&](Call& t) {
    task& child = *new (t.allocate_child()) Leaf(balance, runs);
    child.change_group(cancelled);
    EXPECT_EQ(child.group(), &cancelled);
    t.set_ref_count(2);
    t.spawn_and_wait_for_all(child);
    EXPECT_EQ(runs, 0);
    task_group_context own;
    t.change_group(own);
    EXPECT_EQ(&task::self(), &t);
    EXPECT_EQ(task::current_context(), &own);
    t.set_ref_count(2);
    t.spawn_and_wait_for_all(*new (t.allocate_child()) Leaf(balance, runs));
    EXPECT_EQ(runs, 1);
    return nullptr;
  });
  EXPECT_EQ(balance.alive, 0);
}

TEST(ClassicGroup, CancelledRootOfTheThread) {
  std::atomic<int> runs{0};
  test::Balance balance;
  run([&](Call& t) {
    t.cancel_group_execution();
    t.set_ref_count(2);
    t.spawn_and_wait_for_all(*new (t.allocate_child()) Leaf(balance, runs));
    return nullptr;
  });
  EXPECT_EQ(runs, 0);
  task::spawn_root_and_wait(*new (task::allocate_root()) Leaf(balance, runs));
  EXPECT_EQ(runs, 1);
}

TEST(ClassicGroup, PriorityIsAccepted) {
  run([](Call& t) {
    t.set_group_priority(tbb::priority_high);
    EXPECT_EQ(t.group_priority(), tbb::priority_normal);
    return nullptr;
  });
}

// ---- exceptions ---------------------------------------------------------------------------------

task* fail(Call&) { throw Error("task"); }

TEST(ClassicGroup, RootThrows) {
  for (int i = 0; i < 3; ++i) EXPECT_THROW(run(fail), Error);
  std::atomic<int> runs{0};
  run([&](Call&) {
    ++runs;
    return nullptr;
  });
  EXPECT_EQ(runs, 1);
}

TEST(ClassicGroup, TheCallersGroupStaysCancelled) {
  task_group_context group;
  const auto run_in = [&](const Call::Function& f) {
    task::spawn_root_and_wait(*new (task::allocate_root(group)) Call(f));
  };
  EXPECT_THROW(run_in(fail), Error);
  EXPECT_TRUE(group.is_group_execution_cancelled());
  EXPECT_THROW(run_in([](Call&) -> task* {
                 ADD_FAILURE();
                 return nullptr;
               }),
               Error);
  group.reset();
  bool ran = false;
  run_in([&](Call&) {
    ran = true;
    return nullptr;
  });
  EXPECT_TRUE(ran);
}

// Every wait that encloses the throwing task throws.
TEST(ClassicGroup, NestedWaitsThrow) {
  std::atomic<int> thrown{0};
  std::function<task*(Call&, int)> f = [&](Call& t, int depth) -> task* {
    if (depth == 0) throw Error("deep");
    t.set_ref_count(3);
    task& a = *new (t.allocate_child()) Call([&f, depth](Call& c) { return f(c, depth - 1); });
    task::spawn(*new (t.allocate_child()) tbb::empty_task);
    try {
      t.spawn_and_wait_for_all(a);
    } catch (const Error&) {
      ++thrown;
      throw;
    }
    ADD_FAILURE() << "after a wait that should have thrown";
    return nullptr;
  };
  for (int i = 0; i < 50; ++i) {
    thrown = 0;
    EXPECT_THROW(run([&](Call& t) { return f(t, 5); }), Error);
    EXPECT_EQ(thrown, 5);
  }
}

TEST(ClassicGroup, ChildOfAContinuationThrows) {
  test::Balance balance;
  std::atomic<int> runs{0};
  for (int i = 0; i < 50; ++i) {
    EXPECT_THROW(run([&](Call& t) -> task* {
                   task& c = *new (t.allocate_continuation()) Leaf(balance, runs);
                   c.set_ref_count(2);
                   task& first = *new (c.allocate_child()) Leaf(balance, runs);
                   task::spawn(*new (c.allocate_child()) Call(fail));
                   return &first;
                 }),
                 Error);
    EXPECT_EQ(balance.alive, 0);
  }
}

TEST(ClassicGroup, StolenChildThrows) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> begun{false};
    EXPECT_THROW(run([&](Call& t) {
                   t.set_ref_count(2);
                   task::spawn(*new (t.allocate_child()) Call([&](Call&) -> task* {
                     begun = true;
                     throw Error("stolen");
                   }));
                   test::wait_for([&] { return begun.load(); }, 20);
                   t.wait_for_all();
                   return nullptr;
                 }),
                 Error);
  }
}

TEST(ClassicGroup, RootToWaitAtThrows) {
  task& root = *new (task::allocate_root()) tbb::empty_task;
  root.set_ref_count(1);
  for (int i = 0; i < 10; ++i) {
    task::spawn(*new (task::allocate_additional_child_of(root)) Call(fail));
  }
  EXPECT_THROW(root.wait_for_all(), Error);
  EXPECT_FALSE(root.is_cancelled());
  task::destroy(root);
}

TEST(ClassicGroup, ListThrows) {
  tbb::task_list list;
  for (int i = 0; i < 10; ++i) list.push_back(*new (task::allocate_root()) Call(fail));
  EXPECT_THROW(task::spawn_root_and_wait(list), Error);
}

TEST(ClassicGroup, CancelsAlsoIfTheTaskCatchesIt) {
  EXPECT_THROW(run([](Call& t) {
                 try {
                   run(fail);
                   ADD_FAILURE();
                 } catch (const Error&) {
                 }
                 EXPECT_TRUE(t.is_cancelled());
                 return nullptr;
               }),
               Error);
}

// ---- where no classic task runs -----------------------------------------------------------------

TEST(ClassicGroup, TheThreadItselfHasChildren) {
  std::atomic<int> runs{0};
  test::Balance balance;
  for (int i = 0; i < 3; ++i) {
    task& self = task::self();
    EXPECT_EQ(&self, &task::self());
    EXPECT_EQ(self.parent(), nullptr);
    EXPECT_EQ(task::current_context(), nullptr);
    self.set_ref_count(3);
    task::spawn(*new (self.allocate_child()) Leaf(balance, runs));
    self.spawn_and_wait_for_all(*new (self.allocate_child()) Leaf(balance, runs));
    EXPECT_EQ(runs, 2 * (i + 1));
    EXPECT_EQ(balance.alive, 0);
    self.set_ref_count(2);
    EXPECT_THROW(self.spawn_and_wait_for_all(*new (self.allocate_child()) Call(fail)), Error);
    EXPECT_FALSE(self.is_cancelled());
  }
}

TEST(ClassicGroup, ABodyCancelsItsAlgorithm) {
  std::atomic<bool> cancelled{false};
  tbb::parallel_invoke(
      [&] {
        task& self = task::self();
        // A nested algorithm does not change which group the outer task::self() stands for.
        tbb::parallel_invoke([] { task::self().cancel_group_execution(); }, [] {}, [] {});
        EXPECT_FALSE(self.is_cancelled());
        EXPECT_TRUE(self.cancel_group_execution());
        cancelled = task::self().is_cancelled();
      },
      [] {}, [] {});
  EXPECT_TRUE(cancelled);
  EXPECT_FALSE(task::self().is_cancelled());
}

TEST(ClassicGroup, TasksInBodiesOfAlgorithms) {
  std::atomic<int> runs{0};
  test::Balance balance;
  const auto body = [&] {
    for (int i = 0; i < 10; ++i) {
      task::spawn_root_and_wait(*new (task::allocate_root()) Leaf(balance, runs));
      task& self = task::self();
      self.set_ref_count(2);
      self.spawn_and_wait_for_all(*new (self.allocate_child()) Leaf(balance, runs));
    }
  };
  tbb::parallel_invoke(body, body, body, body);
  EXPECT_EQ(runs, 80);
  EXPECT_EQ(balance.alive, 0);
  EXPECT_THROW(tbb::parallel_invoke([] { run(fail); }, body, body), Error);
}

TEST(ClassicGroup, EnqueuedOutlivesTheAlgorithm) {
  std::atomic<int> runs{0};
  test::Balance balance;
  const auto body = [&] {
    task& t = *new (task::allocate_root()) Leaf(balance, runs);
    task::self().cancel_group_execution();
    EXPECT_TRUE(t.is_cancelled());
    task::enqueue(t);
  };
  for (int i = 0; i < 50; ++i) tbb::parallel_invoke(body, [] {});
  EXPECT_TRUE(test::wait_for([&] { return runs == 50 && balance.alive == 0; }, 10000));
}

// Use more groups than a thread caches tasks for: a task in use must not be reused for another
// group.
TEST(ClassicGroup, DeepAlgorithms) {
  std::function<void(int)> f = [&](int depth) {
    if (depth == 0) return;
    task& self = task::self();
    self.set_ref_count(1);
    tbb::parallel_invoke([&] { f(depth - 1); }, [] {});
    EXPECT_EQ(self.ref_count(), 1);
    EXPECT_EQ(&self, &task::self());
    self.wait_for_all();
  };
  f(100);
}

}  // namespace
