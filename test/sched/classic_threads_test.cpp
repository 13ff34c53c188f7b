// SPDX-License-Identifier: Apache-2.0
// Tasks of TBB 2020 in several threads: enqueuing, affinity, sleeping, joint waits.
#include <gtest/gtest.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "classic_tasks.hpp"
#include "helped.hpp"

namespace {

using tbb::task;
using test::Call;
using test::Leaf;
using test::run;

TEST(ClassicThreads, EnqueuedTaskRunsWithoutAWait) {
  std::atomic<int> runs{0};
  test::Balance balance;
  for (int i = 0; i < 100; ++i) {
    task& t = *new (task::allocate_root()) Leaf(balance, runs);
    if (i % 2 == 0) {
      task::enqueue(t);
    } else {
      task::enqueue(t, tbb::priority_high);
    }
  }
  EXPECT_TRUE(test::wait_for([&] { return runs == 100 && balance.alive == 0; }, 10000));
}

TEST(ClassicThreads, EnqueuedByAThreadThatHasEnded) {
  std::atomic<int> runs{0};
  test::Balance balance;
  std::thread([&] { task::enqueue(*new (task::allocate_root()) Leaf(balance, runs)); }).join();
  EXPECT_TRUE(test::wait_for([&] { return runs == 1 && balance.alive == 0; }, 10000));
}

TEST(ClassicThreads, EnqueuedInAnotherArena) {
  tbb::task_arena arena(7);
  std::atomic<int> inside{0};
  for (int i = 0; i < 50; ++i) {
    task& t = *new (task::allocate_root()) Call([&](Call&) {
      if (tbb::this_task_arena::max_concurrency() == 7) ++inside;
      return nullptr;
    });
    if (i % 2 == 0) {
      task::enqueue(t, arena);
    } else {
      task::enqueue(t, arena, tbb::priority_low);
    }
  }
  EXPECT_TRUE(test::wait_for([&] { return inside == 50; }, 10000));
}

// Records where it ran.
class Noted : public task {
 public:
  struct Log {
    std::atomic<int> notes{0}, runs{0}, stolen{0};
    std::atomic<unsigned> noted{0};
    std::atomic<std::thread::id> thread{};
  };
  explicit Noted(Log& log) : log_(log) {}
  void note_affinity(affinity_id id) override {
    ++log_.notes;
    log_.noted = id;
  }
  task* execute() override {
    if (is_stolen_task()) ++log_.stolen;
    log_.thread = std::this_thread::get_id();
    ++log_.runs;
    return nullptr;
  }

 private:
  Log& log_;
};

TEST(ClassicThreads, AStolenTaskIsToldWhereItRuns) {
  Noted::Log log;
  run([&](Call& t) {
    t.set_ref_count(2);
    task::spawn(*new (t.allocate_child()) Noted(log));
    test::wait_for([&] { return log.runs == 1; }, 500);
    t.wait_for_all();
    return nullptr;
  });
  EXPECT_EQ(log.runs, 1);
  const bool elsewhere = log.thread.load() != std::this_thread::get_id();
  EXPECT_EQ(log.stolen, elsewhere ? 1 : 0);
  EXPECT_EQ(log.notes, log.stolen);
  if (!elsewhere) GTEST_SKIP() << "no other thread took the task";
  EXPECT_NE(log.noted, 0U);
  // Send a task back to that slot.
  Noted::Log again;
  run([&](Call& t) {
    t.set_ref_count(3);
    for (const task::affinity_id id : {task::affinity_id(log.noted), task::affinity_id(1)}) {
      task& child = *new (t.allocate_child()) Noted(again);
      child.set_affinity(id);
      EXPECT_EQ(child.affinity(), id);
      task::spawn(child);
    }
    test::wait_for([&] { return again.runs == 2; }, 500);
    t.wait_for_all();
    return nullptr;
  });
  EXPECT_EQ(again.runs, 2);
  EXPECT_LE(again.notes, again.stolen);
}

TEST(ClassicThreads, AffinityToAMissingSlotIsIgnored) {
  Noted::Log log;
  run([&](Call& t) {
    t.set_ref_count(2);
    task& child = *new (t.allocate_child()) Noted(log);
    child.set_affinity(60000);
    task::spawn(child);
    t.wait_for_all();
    return nullptr;
  });
  EXPECT_EQ(log.runs, 1);
}

// The last child ends in another thread while this thread sleeps.
TEST(ClassicThreads, WaitThatFallsAsleepIsWoken) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> begun{false};
    run([&](Call& t) {
      t.set_ref_count(2);
      task::spawn(*new (t.allocate_child()) Call([&](Call&) {
        begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return nullptr;
      }));
      test::wait_for([&] { return begun.load(); }, 20);
      t.wait_for_all();
      return nullptr;
    });
  }
}

TEST(ClassicThreads, AThreadOutsideReleasesAReference) {
  task& root = *new (task::allocate_root()) tbb::empty_task;
  root.set_ref_count(2);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    root.decrement_ref_count();
  });
  root.wait_for_all();
  other.join();
  task::destroy(root);
}

TEST(ClassicThreads, SeveralThreadsWaitForOneTask) {
  for (int i = 0; i < 20; ++i) {
    tbb::task_group_context group(tbb::task_group_context::bound,
                                  tbb::task_group_context::concurrent_wait);
    std::atomic<int> runs{0};
    test::Balance balance;
    task& root = *new (task::allocate_root(group)) tbb::empty_task;
    root.set_ref_count(1);
    for (int n = 0; n < 200; ++n) {
      task::spawn(*new (task::allocate_additional_child_of(root)) Leaf(balance, runs));
    }
    std::vector<std::thread> threads;
    for (int n = 0; n < 2; ++n) {
      threads.emplace_back([&] {
        root.wait_for_all();
        EXPECT_EQ(runs, 200);
      });
    }
    root.wait_for_all();
    EXPECT_EQ(runs, 200);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(root.ref_count(), 1);
    root.set_ref_count(0);
    task::destroy(root);
  }
}

TEST(ClassicThreads, SuspendedAndResumed) {
  std::atomic<int> runs{0};
  std::thread other;
  run([&](Call& t) {
    t.set_ref_count(2);
    t.spawn_and_wait_for_all(*new (t.allocate_child()) Call([&](Call& c) {
      task::suspend([&](task::suspend_point point) {
        other = std::thread([point] { task::resume(point); });
      });
      EXPECT_EQ(&task::self(), &c);
      ++runs;
      return nullptr;
    }));
    EXPECT_EQ(&task::self(), &t);
    EXPECT_EQ(runs, 1);
    return nullptr;
  });
  other.join();
}

}  // namespace
