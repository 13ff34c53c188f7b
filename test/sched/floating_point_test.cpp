// SPDX-License-Identifier: Apache-2.0
// Floating-point settings: those of arenas and of contexts reach the tasks.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cfenv>
#include <thread>

namespace {

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(FloatingPoint, IsThatOfTheThreadThatMadeTheArena) {
  tbb::this_task_arena::max_concurrency();  // makes this thread's own arena, too
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  tbb::task_arena arena(2);
  arena.initialize();
  std::fesetround(FE_DOWNWARD);
  std::atomic<bool> done{false};
  int seen = -1;
  arena.enqueue([&] {
    seen = std::fegetround();
    done = true;
  });
  wait_for(done);
  EXPECT_EQ(seen, FE_UPWARD);
  std::fesetround(before);
}

TEST(FloatingPoint, IsThatOfTheContext) {
  tbb::this_task_arena::max_concurrency();
  const int before = std::fegetround();
  tbb::task_group_context upward(tbb::task_group_context::bound,
                                 tbb::task_group_context::fp_settings);
  std::fesetround(FE_UPWARD);
  upward.capture_fp_settings();
  std::fesetround(before);
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::atomic<int> wrong{0}, calls{0};
    const auto check = [&] {
      ++calls;
      if (std::fegetround() != FE_UPWARD) ++wrong;
    };
    tbb::task_group group(upward);
    for (int i = 0; i < 10; ++i) {
      group.run([&] { tbb::parallel_invoke(check, check, check); });
    }
    // Run the loop in a worker.
    tbb::task_arena arena(2);
    arena.enqueue(group.defer(check));
    // The wait for the group runs this task first.
    tbb::task_group plain;
    for (int i = 0; i < 10; ++i) {
      plain.run([&] {
        ++calls;
        if (std::fegetround() != before) ++wrong;
      });
    }
    group.wait();
    EXPECT_EQ(std::fegetround(), before);
    group.run_and_wait(check);
    EXPECT_EQ(std::fegetround(), before);
    plain.wait();
    EXPECT_EQ(calls, 42);
    ASSERT_EQ(wrong, 0);
  }
}

TEST(FloatingPoint, IsThatOfTheContextInAnyThread) {
  tbb::this_task_arena::max_concurrency();
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  tbb::task_group_context upward(tbb::task_group_context::bound,
                                 tbb::task_group_context::fp_settings);
  std::fesetround(before);
  tbb::task_arena alone(1);
  alone.execute([&] {
    int seen = -1;
    const auto look = [&] { seen = std::fegetround(); };
    tbb::task_group group(upward);
    tbb::parallel_invoke([&] { group.run(look); }, [] {});  // run at the end of the fork
    EXPECT_EQ(seen, FE_UPWARD);
    group.wait();

    seen = -1;
    bool has_run = false;
    tbb::parallel_for(tbb::blocked_range<int>(0, 4), [&](const tbb::blocked_range<int>&) {
      if (!has_run) group.run(look);  // run between two calls of the body
      has_run = true;
    });
    group.wait();
    EXPECT_EQ(seen, FE_UPWARD);

    struct Look : tbb::task {
      explicit Look(int& found) : found_(found) {}
      tbb::task* execute() override {
        found_ = std::fegetround();
        return nullptr;
      }
      int& found_;
    };
    seen = -1;
    tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root(upward)) Look(seen));
    EXPECT_EQ(seen, FE_UPWARD);

    seen = -1;
    tbb::task& parent = *new (tbb::task::allocate_root(upward)) tbb::empty_task;
    parent.set_ref_count(2);
    tbb::task::spawn(*new (parent.allocate_child()) Look(seen));
    parent.wait_for_all();
    tbb::task::destroy(parent);
    EXPECT_EQ(seen, FE_UPWARD);
  });
  EXPECT_EQ(std::fegetround(), before);
}

// Counts the calls of look(), and those that have found other settings than expected.
class Looks {
 public:
  explicit Looks(int expected) : expected_(expected) {}
  void look() {
    ++calls_;
    if (std::fegetround() != expected_) ++wrong_;
  }
  int calls() const { return calls_; }
  int wrong() const { return wrong_; }

 private:
  const int expected_;
  std::atomic<int> calls_{0}, wrong_{0};
};

// Sets the rounding mode until the end of the object, which expects to find it again.
class Rounding {
 public:
  explicit Rounding(int mode) : mode_(mode), before_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() {
    EXPECT_EQ(std::fegetround(), mode_);
    std::fesetround(before_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  const int mode_, before_;
};

struct LookTask : tbb::task {
  explicit LookTask(Looks& l) : looks(l) {}
  tbb::task* execute() override {
    looks.look();
    return nullptr;
  }
  Looks& looks;
};

// What a program can start: loops, forks, groups, classic tasks.
void look_in_all(Looks& looks) {
  const auto look = [&] { looks.look(); };
  tbb::parallel_for(0, 10, [&](int) { looks.look(); });
  tbb::parallel_invoke(look, look, look);
  tbb::task_group group;
  for (int i = 0; i < 10; ++i) group.run(look);
  group.wait();
  group.run_and_wait(look);
  tbb::task_group_context own;
  tbb::parallel_for(0, 10, [&](int) { looks.look(); }, own);
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) LookTask(looks));
  tbb::task& parent = *new (tbb::task::allocate_root()) tbb::empty_task;
  parent.set_ref_count(11);
  for (int i = 0; i < 10; ++i) {
    tbb::task::spawn(*new (parent.allocate_child()) LookTask(looks));
  }
  parent.wait_for_all();
  tbb::task::destroy(parent);
}
constexpr int kLooksInAll = 10 + 3 + 11 + 10 + 11;

TEST(FloatingPoint, OfAnArenaReachesTheCallsOfAnyThread) {
  tbb::this_task_arena::max_concurrency();
  tbb::task_arena arena(2);
  {
    const Rounding upward(FE_UPWARD);
    arena.initialize();
  }
  const Rounding downward(FE_DOWNWARD);
  Looks looks(FE_UPWARD);
  for (int i = 0; i < 20; ++i) arena.execute([&] { look_in_all(looks); });
  // This thread runs the tasks, or a worker does.
  tbb::task_group group;
  for (int i = 0; i < 20; ++i) arena.enqueue(group.defer([&] { looks.look(); }));
  arena.wait_for(group);
  EXPECT_EQ(looks.calls(), 20 * kLooksInAll + 20);
  EXPECT_EQ(looks.wrong(), 0);
}

TEST(FloatingPoint, OfAThreadIsThatOfItsFirstUse) {
  std::thread([] {
    {
      const Rounding upward(FE_UPWARD);
      tbb::this_task_arena::max_concurrency();
    }
    const Rounding downward(FE_DOWNWARD);
    Looks looks(FE_UPWARD);
    for (int i = 0; i < 20; ++i) look_in_all(looks);
    EXPECT_EQ(looks.calls(), 20 * kLooksInAll);
    EXPECT_EQ(looks.wrong(), 0);
  }).join();
}

TEST(FloatingPoint, OfAContextReachesAllBelow) {
  tbb::this_task_arena::max_concurrency();
  tbb::task_group_context upward(tbb::task_group_context::isolated);
  {
    const Rounding up(FE_UPWARD);
    upward.capture_fp_settings();
  }
  const Rounding downward(FE_DOWNWARD);
  Looks looks(FE_UPWARD);
  tbb::parallel_for(0, 20, [&](int) { look_in_all(looks); }, upward);
  EXPECT_EQ(looks.calls(), 20 * kLooksInAll);
  EXPECT_EQ(looks.wrong(), 0);
}

// The tasks of a group may begin before any thread waits for the group.
TEST(FloatingPoint, OfAContextReachesGroupsBeforeTheirWaits) {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2);
  arena.execute([&] {
    tbb::task_group_context upward;
    {
      const Rounding up(FE_UPWARD);
      upward.capture_fp_settings();
    }
    Looks looks(FE_UPWARD);
    tbb::parallel_for(
        0, 1,
        [&](int) {
          tbb::task_group group;
          group.run([&] { looks.look(); });
          while (looks.calls() == 0) std::this_thread::yield();  // a worker runs it
          group.wait();
        },
        upward);
    EXPECT_EQ(looks.wrong(), 0);
  });
}

// A classic task returns one of another group, which runs next.
TEST(FloatingPoint, OfAContextReachesTasksThatAreReturned) {
  struct Returns : tbb::task {
    Returns(Looks& l, tbb::task* n) : looks(l), next(n) {}
    tbb::task* execute() override {
      looks.look();
      return next;
    }
    Looks& looks;
    tbb::task* next;
  };
  const int before = std::fegetround();
  tbb::task_group_context upward(tbb::task_group_context::isolated);
  {
    const Rounding up(FE_UPWARD);
    upward.capture_fp_settings();
  }
  tbb::task_group_context usual(tbb::task_group_context::isolated);
  Looks up(FE_UPWARD), as_usual(before);
  // usual -> upward -> usual -> upward
  tbb::task* last = new (tbb::task::allocate_root(upward)) Returns(up, nullptr);
  last = new (tbb::task::allocate_root(usual)) Returns(as_usual, last);
  last = new (tbb::task::allocate_root(upward)) Returns(up, last);
  last = new (tbb::task::allocate_root(usual)) Returns(as_usual, last);
  tbb::task::spawn_root_and_wait(*last);
  EXPECT_EQ(up.calls() + as_usual.calls(), 4);
  EXPECT_EQ(up.wrong() + as_usual.wrong(), 0);
  EXPECT_EQ(std::fegetround(), before);
}

}  // namespace
