// SPDX-License-Identifier: Apache-2.0
// Names of TBB 2020 that oneTBB does not have.
#include <gtest/gtest.h>
#include <tbb/aligned_space.h>
#include <tbb/atomic.h>
#include <tbb/mutex.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_init.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_thread.h>
#include <tbb/compat/condition_variable>
#include <tbb/compat/thread>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "system.hpp"

namespace {

tbb::atomic<int> static_atomic;

TEST(ClassicAtomic, Operations) {
  EXPECT_EQ(static_atomic, 0);
  tbb::atomic<int> number;
  number = 5;
  EXPECT_EQ(number.fetch_and_add(3), 5);
  EXPECT_EQ(number.fetch_and_store(10), 8);
  EXPECT_EQ(number.compare_and_swap(11, 10), 10);
  EXPECT_EQ(number.compare_and_swap(12, 10), 11);
  EXPECT_EQ(number, 11);
  EXPECT_EQ(number.fetch_and_increment(), 11);
  EXPECT_EQ(number.fetch_and_decrement(), 12);
  EXPECT_EQ(++number, 12);
  EXPECT_EQ(number++, 12);
  EXPECT_EQ(--number, 12);
  EXPECT_EQ(number--, 12);
  EXPECT_EQ(number += 9, 20);
  EXPECT_EQ(number -= 5, 15);
  EXPECT_EQ(number.load<tbb::relaxed>(), 15);
  number.store<tbb::full_fence>(16);
  EXPECT_EQ(number.fetch_and_add<tbb::release>(1), 16);
  EXPECT_EQ(number.compare_and_swap<tbb::acquire>(1, 17), 17);
  const tbb::atomic<int> copy(number);
  EXPECT_EQ(copy, 1);
  tbb::atomic<int> assigned;
  assigned = copy;
  EXPECT_EQ(assigned, 1);
  EXPECT_EQ(tbb::make_atomic(4L), 4);
  EXPECT_TRUE((std::is_same<tbb::atomic<short>::value_type, short>::value));
  tbb::atomic<unsigned char> small;
  small = 0;
  EXPECT_EQ(--small, 255);
}

enum Colour { kRed, kBlue };

TEST(ClassicAtomic, OtherTypes) {
  int array[4] = {1, 2, 3, 4};
  tbb::atomic<int*> pointer;
  pointer = array;
  EXPECT_EQ(*(pointer += 2), 3);
  EXPECT_EQ(*pointer++, 3);
  EXPECT_EQ(*--pointer, 3);
  EXPECT_EQ(pointer.fetch_and_store(array), array + 2);
  std::string text = "text";
  tbb::atomic<std::string*> arrow;
  arrow = &text;
  EXPECT_EQ(arrow->size(), 4U);
  tbb::atomic<void*> untyped;
  untyped = array;
  EXPECT_EQ(untyped.compare_and_swap(nullptr, array), array);
  EXPECT_EQ(untyped.load(), nullptr);
  tbb::atomic<bool> flag;
  flag = true;
  EXPECT_TRUE(flag.fetch_and_store(false));
  tbb::atomic<Colour> colour;
  colour = kBlue;
  EXPECT_EQ(colour.compare_and_swap(kRed, kBlue), kBlue);
  tbb::atomic<double> real;
  real = 0.5;
  EXPECT_EQ(real, 0.5);
}

TEST(ClassicAtomic, OfAVolatileObject) {
  struct Shared {
    tbb::atomic<int> number;
    tbb::atomic<int*> pointer;
    tbb::atomic<Colour> colour;
  };
  int target = 0;
  Shared shared;
  shared.number = 5;
  shared.pointer = &target;
  shared.colour = kBlue;
  const volatile Shared& seen = shared;
  const int number = seen.number;
  EXPECT_EQ(number, 5);
  EXPECT_TRUE(seen.number == 5);
  EXPECT_EQ(static_cast<int*>(seen.pointer), &target);
  EXPECT_EQ(static_cast<Colour>(seen.colour), kBlue);
}

TEST(ClassicAtomic, FreeFunctions) {
  tbb::atomic<int> number;
  tbb::store<tbb::release>(number, 7);
  EXPECT_EQ(tbb::load<tbb::acquire>(number), 7);
  tbb::store<tbb::relaxed>(number, 8);
  EXPECT_EQ(tbb::load<tbb::full_fence>(number), 8);
}

TEST(ClassicAtomic, CountsOnSeveralThreads) {
  tbb::atomic<long> count;
  count = 0;
  std::vector<tbb::tbb_thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 10000; ++i) ++count;
    });
  }
  for (tbb::tbb_thread& thread : threads) thread.join();
  EXPECT_EQ(count, 40000);
}

TEST(ClassicThread, IsAThread) {
  tbb::tbb_thread nothing;
  EXPECT_FALSE(nothing.joinable());
  tbb::tbb_thread::id other;
  int sum = 0;
  tbb::tbb_thread thread(
      [&](int a, int b) {
        other = tbb::this_tbb_thread::get_id();
        tbb::this_tbb_thread::yield();
        tbb::this_tbb_thread::sleep(tbb::tick_count::interval_t(0.0001));
        sum = a + b;
      },
      1, 2);
  const tbb::tbb_thread::id id = thread.get_id();
  tbb::move(nothing, thread);
  EXPECT_FALSE(thread.joinable());
  tbb::swap(nothing, thread);
  thread.join();
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(id == other);
  EXPECT_TRUE(id != tbb::this_tbb_thread::get_id());
  EXPECT_GE(tbb::tbb_thread::hardware_concurrency(), 1U);
}

// In a process of its own: the library reads the mask once.
TEST(ClassicThreadDeathTest, HardwareConcurrencyIsThatOfTheMask) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!test::keep_one_processor()) std::_Exit(0);
        if (tbb::tbb_thread::hardware_concurrency() != 1) std::_Exit(1);
        if (tbb::task_scheduler_init::default_num_threads() != 1) std::_Exit(2);
        tbb::task_scheduler_init init(1);
        if (tbb::this_task_arena::max_concurrency() != 1) std::_Exit(3);
        const std::thread::id self = std::this_thread::get_id();
        std::atomic<bool> alone{true};
        tbb::parallel_for(0, 10000, [&](int) {
          if (std::this_thread::get_id() != self) alone = false;
        });
        if (!alone) std::_Exit(4);
        // Needs a thread besides this one, which does not wait.
        std::atomic<bool> done{false};
        tbb::this_task_arena::enqueue([&] { done = true; });
        while (!done) std::this_thread::yield();
        init.terminate();
        const tbb::task_scheduler_init wide(2);
        std::_Exit(tbb::this_task_arena::max_concurrency() == 2 ? 0 : 5);
      },
      testing::ExitedWithCode(0), "");
}

// In a new thread, which has no arena before.
TEST(ClassicInit, PutsTheThreadIntoItsArena) {
  std::thread([] {
    {
      const tbb::task_arena none{tbb::task_arena::attach()};
      EXPECT_FALSE(none.is_active());
      EXPECT_EQ(none.max_concurrency(), tbb::task_scheduler_init::default_num_threads());
    }
    tbb::task_scheduler_init init(1);
    EXPECT_EQ(tbb::this_task_arena::current_thread_index(), 0);
    {
      const tbb::task_arena mine{tbb::task_arena::attach()};
      EXPECT_TRUE(mine.is_active());
      EXPECT_EQ(mine.max_concurrency(), 1);
    }
    init.terminate();
    EXPECT_FALSE(tbb::task_arena(tbb::task_arena::attach()).is_active());
    init.initialize(3);
    tbb::task_arena mine;
    mine.initialize(tbb::task_arena::attach());
    EXPECT_TRUE(mine.is_active());
    EXPECT_EQ(mine.max_concurrency(), 3);
    EXPECT_EQ(mine.execute([] { return tbb::this_task_arena::max_concurrency(); }), 3);
    mine.terminate();
    EXPECT_FALSE(mine.is_active());
  }).join();
}

TEST(ClassicThread, OutlivesItsObject) {
  static std::atomic<int> stage{0};
  {
    const tbb::tbb_thread thread([] {
      while (stage.load() == 0) tbb::this_tbb_thread::yield();
      stage.store(2);
    });
  }
  stage.store(1);
  while (stage.load() != 2) tbb::this_tbb_thread::yield();
}

TEST(ClassicConditionVariable, IsTheStandardOne) {
  EXPECT_TRUE((std::is_same<tbb::interface5::condition_variable, std::condition_variable>::value));
  tbb::mutex mutex;
  std::condition_variable_any changed;
  bool ready = false;
  tbb::tbb_thread thread([&] {
    tbb::interface5::lock_guard<tbb::mutex> lock(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    tbb::interface5::unique_lock<tbb::mutex> lock(mutex);
    changed.wait(lock, [&] { return ready; });
  }
  thread.join();
}

TEST(ClassicConditionVariable, TagsOfLocks) {
  using namespace tbb::interface5;
  tbb::mutex mutex;
  mutex.lock();
  unique_lock<tbb::mutex> adopted(mutex, adopt_lock);
  EXPECT_TRUE(adopted.owns_lock());
  const unique_lock<tbb::mutex> tried(mutex, try_to_lock);
  EXPECT_FALSE(tried.owns_lock());
  const unique_lock<tbb::mutex> deferred(mutex, defer_lock);
  EXPECT_FALSE(deferred.owns_lock());
  EXPECT_TRUE((std::is_same<adopt_lock_t, std::adopt_lock_t>::value));
}

TEST(ClassicAlignedSpace, HoldsObjectsThatAreConstructedLater) {
  struct alignas(64) Wide {
    char byte;
  };
  tbb::aligned_space<Wide, 3> space;
  EXPECT_EQ(space.end() - space.begin(), 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(space.begin()) % 64, 0U);
  EXPECT_EQ(sizeof(tbb::aligned_space<char>), 1U);
}

TEST(Exceptions, AreCaughtByTheirBases) {
  EXPECT_THROW(throw tbb::bad_last_alloc(), std::bad_alloc);
  EXPECT_THROW(throw tbb::user_abort(), std::exception);
  EXPECT_THROW(throw tbb::missing_wait(), std::exception);
  EXPECT_THROW(throw tbb::improper_lock(), std::exception);
  EXPECT_THROW(throw tbb::invalid_multiple_scheduling(), std::exception);
  try {
    throw tbb::unsafe_wait("why");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "why");
  }
  EXPECT_STRNE(tbb::missing_wait().what(), tbb::user_abort().what());
}

TEST(Exceptions, AreCarriedAsObjects) {
  tbb::tbb_exception* moved = nullptr;
  try {
    throw tbb::captured_exception("some_type", "some reason");
  } catch (tbb::tbb_exception& error) {
    moved = error.move();
  }
  ASSERT_NE(moved, nullptr);
  try {
    moved->throw_self();
    FAIL();
  } catch (const tbb::captured_exception& error) {
    EXPECT_STREQ(error.name(), "some_type");
    EXPECT_STREQ(error.what(), "some reason");
  }
  moved->destroy();
  EXPECT_STREQ(tbb::captured_exception(nullptr, nullptr).what(), "");

  tbb::movable_exception<std::string> text("a value");
  text.data() += " of mine";
  moved = text.move();
  try {
    moved->throw_self();
    FAIL();
  } catch (const tbb::movable_exception<std::string>& error) {
    EXPECT_EQ(error.data(), "a value of mine");
    EXPECT_STREQ(error.name(), typeid(error).name());
    EXPECT_STREQ(error.what(), "tbb::movable_exception");
  }
  moved->destroy();
}

}  // namespace
