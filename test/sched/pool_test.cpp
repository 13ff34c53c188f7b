// SPDX-License-Identifier: Apache-2.0
// The library's threads come to every arena that has work for them: nobody is wanted in vain.
#include "sched/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "helped.hpp"

namespace {

using corbel::detail::task_base;
using corbel::detail::worker;
using corbel::sched::Arena;
using corbel::sched::ArenaPlan;
using corbel::sched::pool;
using corbel::sched::Thread;

// Far more than any of these tests takes where it succeeds.
constexpr int kLong = 20'000;  // ms

class FunctionTask : public task_base {
 public:
  explicit FunctionTask(std::function<void()> f) : task_base(&execute), function_(std::move(f)) {
    context = &Thread::current().root;
  }

 private:
  static task_base* execute(task_base* self, worker&, bool) {
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

// An arena for as long as the scope lasts, and tasks in it.
class Lease {
 public:
  explicit Lease(const ArenaPlan& plan) : arena(pool.make_arena(plan)) {}
  ~Lease() { pool.release(arena); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Arena& arena;
};

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    Thread::current();
    pool.set_limit(3);
  }
  ~PoolTest() override { pool.finalize(); }
};

// The second one is wanted while the first thread is on its way.
TEST_F(PoolTest, TwoArenasWantSomebodyAtOnce) {
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
  pool.finalize();
}

TEST_F(PoolTest, HigherLimitBringsMoreThreads) {
  pool.set_limit(1);
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
  pool.set_limit(3);
  EXPECT_TRUE(test::wait_for([&] { return came.load(); }, kLong));
  stop = true;
  pool.finalize();
}

// Each task comes when the thread that ran the last one may just be leaving.
TEST_F(PoolTest, TaskThatComesWhileAThreadLeavesIsRun) {
  Lease lease(two_threads());
  std::atomic<int> run{0};
  for (int i = 1; i <= 1'000; ++i) {
    enqueue(lease.arena, [&] { ++run; });
    ASSERT_TRUE(test::wait_for([&] { return run == i; }, kLong));
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(60 + i % 100);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  pool.finalize();
}

// While `f` runs the calling thread has a place in the arena.
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

// The program's threads take all places. When the one leaves that has the library's, one of the
// library's threads comes.
TEST_F(PoolTest, ThreadThatFoundNoPlaceIsCalledWhenThereIsOne) {
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
  pool.finalize();
}

// A wish that has to wait costs the threads at work nothing: not the pool's lock, for one.
TEST_F(PoolTest, WishThatHasToWaitIsNoHindrance) {
  pool.set_limit(2);
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
    corbel::sync::LockGuard guard(pool.lock());
    go = true;
    EXPECT_TRUE(test::wait_for([&] { return begun == 3; }, kLong));
  }
  EXPECT_TRUE(test::wait_for([&] { return came.load(); }, kLong));
  pool.finalize();
}

// Of higher priority, it comes true as soon as a task has ended.
TEST_F(PoolTest, MoreUrgentWishTakesThreadsAway) {
  pool.set_limit(2);
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
  pool.finalize();
}

// What a thread leaves in its place is found by who takes that place.
TEST_F(PoolTest, TaskLeftInAPlaceIsRunThere) {
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
  pool.finalize();
}

// Where the limit is one thread, the program's, there is nobody else for what it leaves behind.
TEST_F(PoolTest, TaskLeftInAnArenaIsRunWhateverTheLimit) {
  ArenaPlan narrow;
  narrow.width = 1;
  ArenaPlan reserved = two_threads();
  reserved.reserved = 2;
  for (const unsigned limit : {1U, 3U}) {
    for (const ArenaPlan& plan : {two_threads(), narrow, reserved}) {
      pool.set_limit(limit);
      std::atomic<bool> run{false};
      {
        Lease lease(plan);
        call_in(lease.arena, [&](Thread& t) { spawn(t, *new FunctionTask([&] { run = true; })); });
      }
      EXPECT_TRUE(test::wait_for([&] { return run.load(); }, kLong)) << plan.width << ' ' << limit;
      pool.finalize();
    }
  }
}

}  // namespace
