// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/critical_section.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/reader_writer_lock.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_init.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "system.hpp"

namespace {

using tbb::global_control;

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

// Returns how many tasks run at the same time at most. Each task waits a while for the others.
int width_seen(int tasks) {
  std::atomic<int> inside{0}, most{0};
  tbb::task_group group;
  for (int i = 0; i < tasks; ++i) {
    group.run([&] {
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
      --inside;
    });
  }
  group.wait();
  return most;
}

TEST(GlobalControl, TheStrictestOfSeveralCounts) {
  const auto parallelism = global_control::max_allowed_parallelism;
  const std::size_t before = global_control::active_value(parallelism);
  EXPECT_EQ(before, std::size_t(tbb::info::default_concurrency()));
  {
    global_control five(parallelism, 5);
    EXPECT_EQ(global_control::active_value(parallelism), 5);
    {
      global_control three(parallelism, 3), four(parallelism, 4);
      EXPECT_EQ(global_control::active_value(parallelism), 3);
    }
    EXPECT_EQ(global_control::active_value(parallelism), 5);
  }
  EXPECT_EQ(global_control::active_value(parallelism), before);

  const auto stack = global_control::thread_stack_size;
  const std::size_t usual = global_control::active_value(stack);
  EXPECT_GT(usual, 0);
  {
    global_control small(stack, 1 << 20), large(stack, 3 << 20);
    EXPECT_EQ(global_control::active_value(stack), 3 << 20);
  }
  EXPECT_EQ(global_control::active_value(stack), usual);

  const auto terminate = global_control::terminate_on_exception;
  EXPECT_EQ(global_control::active_value(terminate), 0);
  {
    global_control no(terminate, 0), yes(terminate, 1);
    EXPECT_EQ(global_control::active_value(terminate), 1);
  }
  EXPECT_EQ(global_control::active_value(terminate), 0);
}

TEST(GlobalControl, RefusesInvalidValues) {
  EXPECT_THROW(global_control(global_control::max_allowed_parallelism, 0), std::invalid_argument);
  EXPECT_THROW(global_control(global_control::scheduler_handle, 1), std::invalid_argument);
  EXPECT_THROW(global_control::active_value(global_control::parameter_max), std::invalid_argument);
}

TEST(Constraints, RefuseInvalidThreadsPerCore) {
  for (const int invalid : {0, -2}) {
    const auto limits = tbb::task_arena::constraints().set_max_threads_per_core(invalid);
    EXPECT_THROW(tbb::info::default_concurrency(limits), std::invalid_argument);
    tbb::task_arena arena(limits);
    EXPECT_THROW(arena.initialize(), std::invalid_argument);
    EXPECT_THROW(arena.execute([] {}), std::invalid_argument);
    EXPECT_THROW(arena.max_concurrency(), std::invalid_argument);
    EXPECT_FALSE(arena.is_active());
    auto wide = limits;
    tbb::task_arena of_two(wide.set_max_concurrency(2));
    EXPECT_THROW(of_two.initialize(), std::invalid_argument);
  }
}

TEST(GlobalControl, LimitsTheThreads) {
  tbb::task_arena arena(4);
  {
    global_control four(global_control::max_allowed_parallelism, 4);
    int seen = 0;
    for (int i = 0; i < 100 && seen < 3; ++i) {
      seen = arena.execute([] { return width_seen(16); });
    }
    EXPECT_GE(seen, 3);
    EXPECT_LE(seen, 4);
    global_control one(global_control::max_allowed_parallelism, 1);
    // Threads that are already in the arena may take one more task each, when they get a processor.
    const auto narrows = [&] {
      for (int i = 0; i < 100 && seen > 1; ++i) seen = arena.execute([] { return width_seen(4); });
      return seen == 1;
    };
    EXPECT_TRUE(narrows());
    {
      global_control two(global_control::max_allowed_parallelism, 2);
      seen = arena.execute([] { return width_seen(8); });
      EXPECT_TRUE(narrows());
    }
  }
  global_control two(global_control::max_allowed_parallelism, 2);
  EXPECT_LE(arena.execute([] { return width_seen(16); }), 2);
}

TEST(GlobalControl, ALimitAboveTheProcessorsWidensNoArenaByItself) {
  const int processors = tbb::info::default_concurrency();
  const global_control more(global_control::max_allowed_parallelism, processors + 2);
  int width = 0, seen = 0;
  std::thread([&] {
    width = tbb::this_task_arena::max_concurrency();
    seen = width_seen(16);
  }).join();
  EXPECT_EQ(width, processors);
  EXPECT_LE(seen, processors);
}

TEST(GlobalControl, ALimitOfOneHangsNothing) {
  global_control one(global_control::max_allowed_parallelism, 1);
  for (int width = 1; width < 4; ++width) {
    tbb::task_arena arena(width);
    std::atomic<bool> done{false};
    arena.enqueue([&] {
      tbb::parallel_invoke([] {}, [] {});
      done = true;
    });
    wait_for(done);
    tbb::task_group group;
    std::atomic<int> calls{0};
    for (int i = 0; i < 20; ++i) arena.enqueue(group.defer([&] { ++calls; }));
    group.wait();
    EXPECT_EQ(calls, 20);
  }
}

TEST(GlobalControl, SetsTheStackSize) {
  tbb::task_scheduler_handle handle{tbb::attach()};
  tbb::finalize(handle);
  // Larger than any stack that the C library may have cached.
  const std::size_t wanted = 2 * global_control::active_value(global_control::thread_stack_size);
  global_control size(global_control::thread_stack_size, wanted);
  std::atomic<bool> done{false};
  std::size_t seen = 0;
  tbb::task_arena(2).enqueue([&] {
    seen = test::own_stack_size();
    done = true;
  });
  wait_for(done);
  EXPECT_GE(seen, wanted - (1 << 16));
  tbb::task_scheduler_handle again{tbb::attach()};
  tbb::finalize(again);
}

TEST(GlobalControlDeathTest, TerminatesOnExceptions) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        global_control yes(global_control::terminate_on_exception, 1);
        try {
          tbb::parallel_invoke([] { throw std::runtime_error("ends it"); }, [] {});
        } catch (...) {
        }
      },
      "");
  EXPECT_THROW(tbb::parallel_invoke([] { throw std::runtime_error("passes"); }, [] {}),
               std::runtime_error);
}

// The process ends in whichever call the exception is thrown. This thread throws it.
template <typename F>
void expect_death(const F& f, const char* message = "ends it") {
  EXPECT_DEATH(
      {
        global_control alone(global_control::max_allowed_parallelism, 1);
        global_control yes(global_control::terminate_on_exception, 1);
        try {
          f();
        } catch (...) {
        }
        std::_Exit(0);
      },
      message);
}

void throw_it() { throw std::runtime_error("ends it"); }

TEST(GlobalControlDeathTest, TerminatesOnExceptionsOfAnyBody) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  expect_death([] { tbb::parallel_invoke([] {}, throw_it); });
  expect_death([] { tbb::parallel_invoke([] {}, [] {}, throw_it); });
  expect_death([] { tbb::parallel_for(0, 1, [](int) { throw_it(); }); });
  expect_death([] {
    tbb::parallel_reduce(
        tbb::blocked_range<int>(0, 1), 0,
        [](const tbb::blocked_range<int>&, int n) {
          throw_it();
          return n;
        },
        std::plus<int>());
  });
  expect_death([] {
    const int item = 0;
    tbb::parallel_for_each(&item, &item + 1, [](int) { throw_it(); });
  });
  expect_death([] {
    tbb::parallel_pipeline(1, tbb::make_filter<void, void>(tbb::filter_mode::parallel,
                                                           [](tbb::flow_control&) { throw_it(); }));
  });
  expect_death([] {
    int numbers[] = {2, 1, 3};
    tbb::parallel_sort(numbers, numbers + 3, [](int, int) {
      throw_it();
      return true;
    });
  });
  expect_death([] { tbb::task_group().run_and_wait(throw_it); });
  expect_death([] {
    tbb::task_group group;
    group.run(throw_it);
    group.wait();
  });
  expect_death([] {
    struct Throws : tbb::task {
      tbb::task* execute() override {
        throw_it();
        return nullptr;
      }
    };
    tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Throws);
  });
}

TEST(GlobalControlDeathTest, TerminatesOnExceptionsOfTheLibrary) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  expect_death([] { tbb::parallel_for(0, 1, 0, [](int) {}); }, "step must be positive");
  expect_death(
      [] {
        tbb::task_group group;
        const tbb::task_handle held = group.defer([] {});
        group.run([] {});
      },
      "wait");
  expect_death(
      [] {
        tbb::task_scheduler_handle none;
        tbb::finalize(none);
      },
      "could not be waited for");
  expect_death([] { global_control none(global_control::max_allowed_parallelism, 0); },
               "cannot be 0");
  expect_death([] { global_control::active_value(global_control::parameter_max); },
               "not a parameter");
  expect_death(
      [] {
        tbb::task_arena(tbb::task_arena::constraints().set_max_threads_per_core(0)).initialize();
      },
      "max_threads_per_core");
  expect_death(
      [] {
        tbb::critical_section section;
        section.lock();
        section.lock();
      },
      "held already");
  expect_death(
      [] {
        tbb::reader_writer_lock lock;
        lock.lock();
        lock.lock_read();
      },
      "held already");
}

// ---- handles ------------------------------------------------------------------------------------

// Returns when there is a thread of the library.
void start_a_worker() {
  std::atomic<bool> has_run{false};
  tbb::task_arena(2).enqueue([&] { has_run = true; });
  wait_for(has_run);
}

TEST(SchedulerHandle, Finalizes) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    tbb::task_scheduler_handle handle{tbb::attach()};
    EXPECT_TRUE(handle != nullptr && bool(handle));
    EXPECT_EQ(global_control::active_value(global_control::scheduler_handle), 1);
    std::atomic<int> calls{0};
    tbb::task_group group;
    for (int i = 0; i < 100; ++i) group.run([&] { ++calls; });
    group.wait();
    EXPECT_EQ(calls, 100);
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_TRUE(handle == nullptr);
    EXPECT_EQ(global_control::active_value(global_control::scheduler_handle), 0);
  }
}

TEST(SchedulerHandle, IsAssignedAnAttach) {
  tbb::task_scheduler_handle handle;
  handle = tbb::attach();
  EXPECT_TRUE(bool(handle));
  handle.release();
}

TEST(SchedulerHandle, FinalizesInTwoThreadsAtOnce) {
  const auto work = [] {
    for (int i = 0; i < 300; ++i) {
      tbb::task_scheduler_init init;
      std::atomic<int> calls{0};
      const auto spin = [&] {
        ++calls;
        for (int k = 0; k < 20000; ++k) asm volatile("");
      };
      tbb::parallel_invoke(spin, spin, spin);
      EXPECT_EQ(calls, 3);
      init.blocking_terminate(std::nothrow);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(SchedulerHandle, DoesNotFinalizeInATaskOrWhileOthersHoldHandles) {
  tbb::task_scheduler_handle none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(tbb::finalize(none, std::nothrow));
  {
    tbb::task_scheduler_handle one{tbb::attach()};
    tbb::task_scheduler_handle other = tbb::task_scheduler_handle::get();
    start_a_worker();
    EXPECT_THROW(tbb::finalize(one), tbb::unsafe_wait);
    tbb::task_scheduler_handle moved = std::move(other);
    EXPECT_FALSE(other);
    EXPECT_TRUE(tbb::finalize(moved, std::nothrow));
  }
  tbb::parallel_invoke(
      [] {
        tbb::task_scheduler_handle inside{tbb::attach()};
        EXPECT_FALSE(tbb::finalize(inside, std::nothrow));
      },
      [] {});
  tbb::task_arena arena(2);
  arena.execute([] {
    tbb::task_scheduler_handle inside{tbb::attach()};
    EXPECT_FALSE(tbb::finalize(inside, std::nothrow));
    inside.release();
  });
  tbb::task_scheduler_handle released{tbb::attach()};
  released.release();
  EXPECT_FALSE(released);
}

TEST(SchedulerHandle, FinalizesWithAnotherHandleIfNothingHasBeenStarted) {
  tbb::task_scheduler_handle first{tbb::attach()};
  tbb::finalize(first, std::nothrow);
  tbb::task_scheduler_handle one{tbb::attach()}, other{tbb::attach()};
  EXPECT_TRUE(tbb::finalize(one, std::nothrow));
  EXPECT_FALSE(one);
  EXPECT_TRUE(tbb::finalize(other, std::nothrow));
}

TEST(SchedulerHandle, DoesNotFinalizeWhileAnotherThreadIsInitialized) {
  for (const bool works : {false, true}) {
    std::atomic<bool> used{false}, may_end{false};
    std::thread another([&] {
      if (works) start_a_worker();
      tbb::this_task_arena::max_concurrency();
      used = true;
      wait_for(may_end);
    });
    wait_for(used);
    tbb::task_scheduler_handle early{tbb::attach()};
    EXPECT_FALSE(tbb::finalize(early, std::nothrow));
    tbb::task_scheduler_handle again{tbb::attach()};
    EXPECT_THROW(tbb::finalize(again), tbb::unsafe_wait);
    may_end = true;
    another.join();
    tbb::task_scheduler_handle late{tbb::attach()};
    EXPECT_TRUE(tbb::finalize(late, std::nothrow));
  }
}

// ---- task_scheduler_init ------------------------------------------------------------------------

TEST(SchedulerInit, SetsTheWidthOfTheThread) {
  std::thread([] {
    {
      tbb::task_scheduler_init init(3);
      EXPECT_TRUE(init.is_active());
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 3);
      tbb::task_scheduler_init inner(5);
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 3);
    }
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(),
              tbb::task_scheduler_init::default_num_threads());
    tbb::task_scheduler_init later(tbb::task_scheduler_init::deferred);
    EXPECT_FALSE(later.is_active());
    later.initialize(1, 1 << 20);
    EXPECT_EQ(global_control::active_value(global_control::thread_stack_size), 1 << 20);
    EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 1);
    EXPECT_EQ(width_seen(6), 1);
    later.terminate();
    EXPECT_FALSE(later.is_active());
    later.initialize(4);
    int seen = 0;
    for (int i = 0; i < 100 && seen < 3; ++i) seen = width_seen(16);
    EXPECT_GE(seen, 3);
    EXPECT_TRUE(later.blocking_terminate(std::nothrow));
    EXPECT_NO_THROW(later.blocking_terminate());
  }).join();
}

}  // namespace
