// SPDX-License-Identifier: Apache-2.0
// Workers come to every arena that has work: no request is lost.
#include "sched/pool/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <corbel/detail/suspend.hpp>
#include <corbel/task_scheduler_observer.hpp>

#include "helped.hpp"
#include "sched/pool/dispatch.hpp"

namespace {

using corbel::detail::task_base;
using corbel::detail::thread_data;
using corbel::sched::Arena;
using corbel::sched::ArenaPlan;
using corbel::sched::Thread;
using corbel::sched::thread_pool;

// Far longer than any of these tests takes when it succeeds.
constexpr int kLong = 20'000;  // ms

class FunctionTask : public task_base {
 public:
  explicit FunctionTask(std::function<void()> f) : task_base(&execute), function_(std::move(f)) {
    context = &Thread::current().root;
  }

 private:
  static task_base* execute(task_base* self, thread_data&, bool) {
    const std::unique_ptr<FunctionTask> task(static_cast<FunctionTask*>(self));
    task->function_();
    return nullptr;
  }
  std::function<void()> function_;
};

void enqueue(Arena& arena, std::function<void()> f) {
  arena.enqueue(*new FunctionTask(std::move(f)));
}

ArenaPlan two_threads() {
  ArenaPlan plan;
  plan.width = 2;
  return plan;
}

// An arena that exists as long as the scope.
class Lease {
 public:
  explicit Lease(const ArenaPlan& plan) : arena(thread_pool.make_arena(plan)) {}
  ~Lease() { thread_pool.release(arena); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Arena& arena;
};

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    Thread::current();
    thread_pool.set_limit(3);
  }
  ~PoolTest() override { thread_pool.finalize(); }
};

// The second arena requests a worker while the first one's is still on its way.
TEST_F(PoolTest, TwoArenasRequestAWorkerAtOnce) {
  Lease first(two_threads());
  Lease second(two_threads());
  std::atomic<int> begun{0};
  std::atomic<int> met{0};
  for (Arena* arena : {&first.arena, &second.arena}) {
    enqueue(*arena, [&] {
      ++begun;
      if (test::wait_for([&] { return begun == 2; }, kLong)) ++met;
    });
  }
  EXPECT_TRUE(test::wait_for([&] { return met == 2; }, 2 * kLong));
  thread_pool.finalize();
}

TEST_F(PoolTest, HigherLimitBringsMoreThreads) {
  thread_pool.set_limit(1);
  Lease first(two_threads());
  Lease second(two_threads());
  std::atomic<bool> stop{false};
  std::atomic<bool> begun{false};
  std::atomic<bool> came{false};
  enqueue(first.arena, [&] {
    begun = true;
    test::wait_for([&] { return stop.load(); }, 2 * kLong);
  });
  EXPECT_TRUE(test::wait_for([&] { return begun.load(); }, kLong));
  enqueue(second.arena, [&] { came = true; });
  thread_pool.set_limit(3);
  EXPECT_TRUE(test::wait_for([&] { return came.load(); }, kLong));
  stop = true;
  thread_pool.finalize();
}

class CountsWorkers : public corbel::task_scheduler_observer {
 public:
  CountsWorkers() : task_scheduler_observer(/*local=*/false) { observe(true); }
  ~CountsWorkers() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override { came_ += is_worker ? 1 : 0; }
  int came() const { return came_; }

 private:
  std::atomic<int> came_{0};
};

// Requests that the thread limit did not allow: no worker comes for each of them when nothing is
// left to do.
TEST_F(PoolTest, RequestsEndWithTheWork) {
  thread_pool.set_limit(2);
  ArenaPlan plan;
  plan.width = 16;
  Lease lease(plan);
  Arena& arena = lease.arena;
  CountsWorkers observer;
  std::atomic<bool> done{false};
  enqueue(arena, [&] {
    for (int i = 0; i < 10; ++i) request_worker(arena);
    done = true;
  });
  EXPECT_TRUE(test::wait_for(
      [&] { return done && arena.worker_count() == 0 && arena.requested_workers == 0; }, kLong));
  EXPECT_LE(observer.came(), 2);
}

// Each task is enqueued when the thread that ran the last one may be leaving.
TEST_F(PoolTest, ATaskEnqueuedWhileAThreadLeavesIsRun) {
  Lease lease(two_threads());
  std::atomic<int> run{0};
  for (int i = 1; i <= 1'000; ++i) {
    enqueue(lease.arena, [&] { ++run; });
    ASSERT_TRUE(test::wait_for([&] { return run == i; }, kLong));
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(60 + i % 100);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  thread_pool.finalize();
}

// The calling thread occupies a slot of the arena while `f` runs.
template <typename F>
void call_in(Arena& arena, const F& f) {
  Thread& t = Thread::current();
  Arena& home = *t.arena;
  home.leave(t);
  const bool entered = arena.enter(t, Arena::As::kCaller);
  EXPECT_TRUE(entered);
  if (entered) {
    f(t);
    arena.leave(t);
  }
  EXPECT_TRUE(home.enter(t, Arena::As::kCaller));
}

// Threads of the program take all slots. When one of them leaves the slot that belongs to a worker,
// a worker comes.
TEST_F(PoolTest, AWorkerComesWhenASlotIsFreeAgain) {
  Lease lease(two_threads());
  std::atomic<bool> inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> run{false};
  std::thread other;
  call_in(lease.arena, [&](Thread& t) {
    other = std::thread([&] {
      call_in(lease.arena, [&](Thread&) {
        inside = true;
        test::wait_for([&] { return may_leave.load(); }, 2 * kLong);
      });
    });
    EXPECT_TRUE(test::wait_for([&] { return inside.load(); }, kLong));
    spawn(t, *new FunctionTask([&] { run = true; }));
    EXPECT_FALSE(test::wait_for([&] { return run.load(); }, 20));
    may_leave = true;
    EXPECT_TRUE(test::wait_for([&] { return run.load(); }, kLong));
  });
  other.join();
  thread_pool.finalize();
}

// A request that has to wait costs the threads at work nothing; in particular, they do not take the
// pool's lock.
TEST_F(PoolTest, APendingRequestDoesNotDelayOthers) {
  thread_pool.set_limit(2);
  Lease first(two_threads());
  Lease second(two_threads());
  std::atomic<int> begun{0};
  std::atomic<bool> go{false};
  for (int i = 0; i < 3; ++i) {
    enqueue(first.arena, [&] {
      ++begun;
      test::wait_for([&] { return go.load(); }, 2 * kLong);
    });
  }
  EXPECT_TRUE(test::wait_for([&] { return begun == 1; }, kLong));
  std::atomic<bool> came{false};
  enqueue(second.arena, [&] { came = true; });
  {
    corbel::sync::LockGuard guard(thread_pool.lock());
    go = true;
    EXPECT_TRUE(test::wait_for([&] { return begun == 3; }, kLong));
  }
  EXPECT_TRUE(test::wait_for([&] { return came.load(); }, kLong));
  thread_pool.finalize();
}

// A request of higher priority is served as soon as a task has ended.
TEST_F(PoolTest, ARequestOfHigherPriorityTakesWorkersAway) {
  thread_pool.set_limit(2);
  ArenaPlan urgent = two_threads();
  urgent.priority = 1;
  Lease first(two_threads());
  Lease second(urgent);
  std::atomic<int> begun{0};
  std::atomic<int> begun_before{0};
  std::atomic<bool> go{false};
  for (int i = 0; i < 100; ++i) {
    enqueue(first.arena, [&] {
      ++begun;
      test::wait_for([&] { return go.load(); }, 2 * kLong);
    });
  }
  EXPECT_TRUE(test::wait_for([&] { return begun == 1; }, kLong));
  std::atomic<bool> came{false};
  enqueue(second.arena, [&] {
    begun_before = begun.load();
    came = true;
  });
  go = true;
  EXPECT_TRUE(test::wait_for([&] { return came.load(); }, kLong));
  EXPECT_EQ(begun_before, 1);
  EXPECT_TRUE(test::wait_for([&] { return begun == 100; }, kLong));
  thread_pool.finalize();
}

// A thread leaves a task in its slot. The thread that takes the slot finds it.
TEST_F(PoolTest, ATaskLeftInASlotIsRun) {
  Lease lease(two_threads());
  std::atomic<bool> run{false};
  std::thread other;
  call_in(lease.arena, [&](Thread&) {
    other = std::thread([&] {
      call_in(lease.arena, [&](Thread& t) { spawn(t, *new FunctionTask([&] { run = true; })); });
    });
    EXPECT_TRUE(test::wait_for([&] { return run.load(); }, kLong));
  });
  other.join();
  thread_pool.finalize();
}

// With a limit of one thread, which is the program's own, no other thread can run the task it
// leaves.
TEST_F(PoolTest, ATaskLeftInAnArenaIsRunUnderAnyLimit) {
  ArenaPlan narrow;
  narrow.width = 1;
  ArenaPlan reserved = two_threads();
  reserved.reserved = 2;
  for (const unsigned limit : {1U, 3U}) {
    for (const ArenaPlan& plan : {two_threads(), narrow, reserved}) {
      thread_pool.set_limit(limit);
      std::atomic<bool> run{false};
      {
        Lease lease(plan);
        call_in(lease.arena, [&](Thread& t) { spawn(t, *new FunctionTask([&] { run = true; })); });
      }
      EXPECT_TRUE(test::wait_for([&] { return run.load(); }, kLong)) << plan.width << ' ' << limit;
      thread_pool.finalize();
    }
  }
}

// Takes the only worker out of the way until `condition` holds. Returns when the worker has come.
void hold_worker(Arena& arena, const std::function<bool()>& condition) {
  const auto held = std::make_shared<std::atomic<bool>>(false);
  enqueue(arena, [held, condition] {
    *held = true;
    test::wait_for(condition, 2 * kLong);
  });
  EXPECT_TRUE(test::wait_for([&] { return held->load(); }, kLong));
}

// Two threads leave a task in their deques, each in an arena of its own, and do something else. A
// thief has to interrupt the owner for it: the owner has not seen that a task has been stolen
// before. The only worker does so although each arena's request calls it away from the other one.
TEST_F(PoolTest, ARequestElsewhereIsNoReasonToLeaveTasksOfOwnersThatAreAway) {
  thread_pool.set_limit(2);
  Lease first(two_threads());
  Lease second(two_threads());
  Lease third(two_threads());
  std::atomic<int> run{0};
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  const auto spawn_two = [&](Thread& t) {
    spawn(t, *new FunctionTask([&] { ++run; }));
    ++ready;
    test::wait_for([&] { return go.load(); }, kLong);
    spawn(t, *new FunctionTask([&] { ++run; }));
    ++ready;
    EXPECT_TRUE(test::wait_for([&] { return run == 4; }, kLong));
    corbel::sched::drain(t);
  };
  std::thread one([&] { call_in(first.arena, spawn_two); });
  std::thread two([&] { call_in(second.arena, spawn_two); });
  EXPECT_TRUE(test::wait_for([&] { return run == 2; }, kLong));
  hold_worker(third.arena, [&] { return ready == 4; });
  go = true;
  one.join();
  two.join();
}

// The same while finalize() calls the worker away.
TEST_F(PoolTest, FinalizeIsNoReasonToLeaveTasksOfOwnersThatAreAway) {
  thread_pool.set_limit(2);
  Lease lease(two_threads());
  Lease other(two_threads());
  std::atomic<int> run{0};
  std::atomic<bool> is_spawned{false};
  std::thread finalizing;
  call_in(lease.arena, [&](Thread& t) {
    spawn(t, *new FunctionTask([&] { ++run; }));
    EXPECT_TRUE(test::wait_for([&] { return run == 1; }, kLong));
    hold_worker(other.arena, [&] { return is_spawned.load(); });
    finalizing = std::thread([&] { thread_pool.finalize(); });
    // so that finalize() comes first in most runs
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    spawn(t, *new FunctionTask([&] { ++run; }));
    is_spawned = true;
    EXPECT_TRUE(test::wait_for([&] { return run == 2; }, kLong));
    corbel::sched::drain(t);
  });
  finalizing.join();
}

// Waits in a task, until notify(&flag) follows a store of true.
void wait_for_notice(std::atomic<bool>& flag) {
  corbel::detail::wait_until(Thread::current(), &flag, [](const void* f) {
    return static_cast<const std::atomic<bool>*>(f)->load();
  });
}

// Waits for what would never come if a worker that rests counted.
template <typename Condition>
void expect_in_time(const Condition& condition) {
  EXPECT_TRUE(test::wait_for(condition, kLong));
  thread_pool.set_limit(4);  // so that a test that fails ends
  EXPECT_TRUE(test::wait_for(condition, kLong));
}

// A task of the only worker waits for a task that is enqueued in another arena, where no other
// thread may run it.
TEST_F(PoolTest, AWorkerComesForWhatAnotherOneWaitsFor) {
  thread_pool.set_limit(2);
  Lease first(two_threads());
  Lease second(two_threads());
  std::atomic<bool> run{false};
  std::atomic<bool> done{false};
  enqueue(first.arena, [&] {
    enqueue(second.arena, [&] {
      run = true;
      corbel::detail::notify(&run);
    });
    wait_for_notice(run);
    done = true;
  });
  expect_in_time([&] { return done.load(); });
}

// ---- suspended tasks ----------------------------------------------------------------------------

using corbel::detail::suspend_point;

// Suspends the calling task and stores the point.
void suspend_into(std::atomic<suspend_point>& point) {
  auto tell = [&](suspend_point p) { point = p; };
  corbel::detail::suspend_with(tell);
}

// A worker whose tasks are suspended cannot leave the arena `home`. With a limit of two threads it
// is the only one, and only a task in the arena `other` resumes them.
class SuspendedWorkerTest : public PoolTest {
 protected:
  SuspendedWorkerTest() { thread_pool.set_limit(2); }

  static suspend_point await(const std::atomic<suspend_point>& point) {
    EXPECT_TRUE(test::wait_for([&] { return point.load() != nullptr; }, kLong));
    return point;
  }
  void resume_elsewhere(suspend_point point) {
    enqueue(other.arena, [point] { corbel::detail::resume(point); });
  }
  void expect_resumed_elsewhere() {
    enqueue(home.arena, [&] {
      auto tell = [&](suspend_point p) { resume_elsewhere(p); };
      corbel::detail::suspend_with(tell);
      done = true;
    });
    expect_in_time([&] { return done.load(); });
  }

  Lease home{two_threads()};
  Lease other{two_threads()};
  std::atomic<suspend_point> point{nullptr};
  std::atomic<bool> done{false};
};

TEST_F(SuspendedWorkerTest, AnotherOneRunsWhatResumesItsTask) { expect_resumed_elsewhere(); }

// The same if the program allows no worker, and has one only for what was enqueued.
TEST_F(SuspendedWorkerTest, AnotherOneComesUnderALimitOfOne) {
  thread_pool.set_limit(1);
  expect_resumed_elsewhere();
}

// Its own stack is back where the worker would leave the arena, but a task on another stack uses
// its slot.
TEST_F(SuspendedWorkerTest, AnotherOneComesWhenItWouldLeave) {
  std::atomic<suspend_point> outer{nullptr};
  std::atomic<bool> outer_is_done{false};
  enqueue(home.arena, [&] {
    suspend_into(outer);
    outer_is_done = true;
  });
  const suspend_point first = await(outer);
  enqueue(home.arena, [&] {
    suspend_into(point);
    done = true;
  });
  const suspend_point second = await(point);
  corbel::detail::resume(first);
  EXPECT_TRUE(test::wait_for([&] { return outer_is_done.load(); }, kLong));
  resume_elsewhere(second);
  expect_in_time([&] { return done.load(); });
}

// The worker waits in a task on its spare stack, for a task that is suspended on another one.
TEST_F(SuspendedWorkerTest, AnotherOneComesWhenItWaitsInATask) {
  std::atomic<bool> resumed{false};
  enqueue(home.arena, [&] {
    suspend_into(point);
    resumed = true;
    corbel::detail::notify(&resumed);
  });
  const suspend_point suspended = await(point);
  std::atomic<bool> waits{false};
  enqueue(home.arena, [&] {
    waits = true;
    wait_for_notice(resumed);
    done = true;
  });
  EXPECT_TRUE(test::wait_for([&] { return waits.load(); }, kLong));
  resume_elsewhere(suspended);
  expect_in_time([&] { return done.load(); });
}

// The tasks finish before finalize() ends the workers.
TEST_F(SuspendedWorkerTest, FinalizeWaitsForIt) {
  enqueue(home.arena, [&] {
    suspend_into(point);
    done = true;
  });
  const suspend_point suspended = await(point);
  std::atomic<bool> is_final{false};
  std::thread finalizing([&] {
    thread_pool.finalize();
    EXPECT_TRUE(done);
    is_final = true;
  });
  resume_elsewhere(suspended);
  expect_in_time([&] { return is_final.load(); });
  finalizing.join();
}

// The task continues at once although a worker has come in place of its own; that one leaves at the
// end of its task.
TEST_F(SuspendedWorkerTest, TheLimitHoldsAgainWhenItHasBeenResumed) {
  std::atomic<bool> resumed{false};
  std::atomic<bool> may_end{false};
  enqueue(home.arena, [&] {
    suspend_into(point);
    resumed = true;
    test::wait_for([&] { return may_end.load(); }, 2 * kLong);
    resumed = false;
  });
  const suspend_point suspended = await(point);
  std::atomic<bool> go{false};
  hold_worker(other.arena, [&] { return go.load(); });
  corbel::detail::resume(suspended);
  EXPECT_TRUE(test::wait_for([&] { return resumed.load(); }, kLong));
  std::atomic<bool> ran_beside_it{false};
  enqueue(other.arena, [&] {
    ran_beside_it = resumed.load();
    done = true;
  });
  go = true;
  EXPECT_TRUE(test::wait_for([&] { return other.arena.worker_count() == 0; }, kLong));
  EXPECT_FALSE(done);
  may_end = true;
  expect_in_time([&] { return done.load(); });
  EXPECT_FALSE(ran_beside_it);
}

}  // namespace
