// SPDX-License-Identifier: Apache-2.0
// The locks: a writer is alone, readers share; no waiter is forgotten; upgrades and downgrades
// return the truth.
#include <gtest/gtest.h>
#include <tbb/mutex.h>
#include <tbb/null_mutex.h>
#include <tbb/null_rw_mutex.h>
#include <tbb/queuing_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/recursive_mutex.h>
#include <tbb/rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;

template <typename Function>
void run_threads(int count, const Function& function) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&function, t] { function(t); });
  for (std::thread& thread : threads) thread.join();
}

// Long enough for a waiter to stop spinning. On an overloaded machine it may be too short; then the
// test covers less, but does not fail.
void let_others_wait() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

// ---- all locks ----------------------------------------------------------------------------------
template <typename Mutex>
class AnyMutex : public testing::Test {};
using AllMutexes =
    testing::Types<tbb::spin_mutex, tbb::speculative_spin_mutex, tbb::queuing_mutex, tbb::mutex,
                   tbb::recursive_mutex, tbb::spin_rw_mutex, tbb::speculative_spin_rw_mutex,
                   tbb::queuing_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(AnyMutex, AllMutexes);

TYPED_TEST(AnyMutex, OneHolderAtATime) {
  TypeParam mutex;
  long plain_count = 0;
  run_threads(kThreads, [&](int) {
    for (int i = 0; i < 5000; ++i) {
      typename TypeParam::scoped_lock lock(mutex);
      ++plain_count;
    }
  });
  EXPECT_EQ(plain_count, kThreads * 5000);
}

TYPED_TEST(AnyMutex, WaitersAreLetIn) {
  TypeParam mutex;
  int entered = 0;
  std::vector<std::thread> threads;
  {
    typename TypeParam::scoped_lock lock(mutex);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        typename TypeParam::scoped_lock mine(mutex);
        ++entered;
        let_others_wait();
      });
    }
    let_others_wait();
    EXPECT_EQ(entered, 0);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, kThreads);
}

TYPED_TEST(AnyMutex, TryAcquire) {
  TypeParam mutex;
  typename TypeParam::scoped_lock lock;
  ASSERT_TRUE(lock.try_acquire(mutex));
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_FALSE(other.try_acquire(mutex));
  }).join();
  lock.release();
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_TRUE(other.try_acquire(mutex));
  }).join();
  lock.acquire(mutex);
  lock.release();
  EXPECT_TRUE(lock.try_acquire(mutex));
}

// Some threads acquire and others only try. A thread that tries must not disturb the queue.
TYPED_TEST(AnyMutex, TriesAmongWaits) {
  TypeParam mutex;
  long plain_count = 0;
  std::atomic<long> expected{0};
  run_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 3000; ++i) {
      typename TypeParam::scoped_lock lock;
      if (thread % 2 == 0) {
        lock.acquire(mutex);
      } else if (!lock.try_acquire(mutex)) {
        continue;
      }
      ++plain_count;
      expected.fetch_add(1, std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(plain_count, expected.load());
}

TEST(Mutexes, HaveTheRightProperties) {
  const auto traits = [](auto* mutex) {
    using Mutex = std::remove_pointer_t<decltype(mutex)>;
    return (Mutex::is_rw_mutex ? 4 : 0) + (Mutex::is_recursive_mutex ? 2 : 0) +
           (Mutex::is_fair_mutex ? 1 : 0);
  };
  EXPECT_EQ(traits(static_cast<tbb::spin_mutex*>(nullptr)), 0);
  EXPECT_EQ(traits(static_cast<tbb::speculative_spin_mutex*>(nullptr)), 0);
  EXPECT_EQ(traits(static_cast<tbb::mutex*>(nullptr)), 0);
  EXPECT_EQ(traits(static_cast<tbb::queuing_mutex*>(nullptr)), 1);
  EXPECT_EQ(traits(static_cast<tbb::recursive_mutex*>(nullptr)), 2);
  EXPECT_EQ(traits(static_cast<tbb::null_mutex*>(nullptr)), 3);
  EXPECT_EQ(traits(static_cast<tbb::spin_rw_mutex*>(nullptr)), 4);
  EXPECT_EQ(traits(static_cast<tbb::speculative_spin_rw_mutex*>(nullptr)), 4);
  EXPECT_EQ(traits(static_cast<tbb::rw_mutex*>(nullptr)), 4);
  EXPECT_EQ(traits(static_cast<tbb::queuing_rw_mutex*>(nullptr)), 5);
  EXPECT_EQ(traits(static_cast<tbb::null_rw_mutex*>(nullptr)), 7);
  const bool& can_be_referred_to = tbb::spin_mutex::is_rw_mutex;
  EXPECT_FALSE(can_be_referred_to);
}

// ---- the lock functions of the standard ---------------------------------------------------------
template <typename Mutex>
class StandardMutex : public testing::Test {};
using StandardMutexes =
    testing::Types<tbb::spin_mutex, tbb::speculative_spin_mutex, tbb::mutex, tbb::recursive_mutex,
                   tbb::spin_rw_mutex, tbb::speculative_spin_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(StandardMutex, StandardMutexes);

TYPED_TEST(StandardMutex, WorksWithTheStandardsLocks) {
  TypeParam mutex;
  long plain_count = 0;
  run_threads(2, [&](int) {
    for (int i = 0; i < 2000; ++i) {
      std::lock_guard<TypeParam> lock(mutex);
      ++plain_count;
    }
  });
  EXPECT_EQ(plain_count, 4000);
  std::unique_lock<TypeParam> lock(mutex, std::try_to_lock);
  EXPECT_TRUE(lock.owns_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
}

TEST(RecursiveMutex, IsTakenAgain) {
  tbb::recursive_mutex mutex;
  tbb::recursive_mutex::scoped_lock one(mutex);
  {
    tbb::recursive_mutex::scoped_lock two(mutex);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  one.release();
  std::thread([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }).join();
}

TEST(NullMutex, DoesNothing) {
  tbb::null_mutex plain;
  tbb::null_mutex::scoped_lock one(plain);
  tbb::null_mutex::scoped_lock two;
  EXPECT_TRUE(two.try_acquire(plain));
  two.release();
  two.acquire(plain);
  plain.lock();
  EXPECT_TRUE(plain.try_lock());
  plain.unlock();
  tbb::null_rw_mutex shared;
  tbb::null_rw_mutex::scoped_lock three(shared, false);
  tbb::null_rw_mutex::scoped_lock four;
  EXPECT_TRUE(four.try_acquire(shared, true));
  EXPECT_TRUE(three.upgrade_to_writer());
  EXPECT_TRUE(three.downgrade_to_reader());
  std::shared_lock<tbb::null_rw_mutex> five(shared);
}

// ---- reader-writer locks ------------------------------------------------------------------------
template <typename Mutex>
class RwMutex : public testing::Test {};
using RwMutexes = testing::Types<tbb::spin_rw_mutex, tbb::speculative_spin_rw_mutex,
                                 tbb::queuing_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(RwMutex, RwMutexes);

// In another thread, locks as a reader until a waiter keeps new readers out.
template <typename Mutex>
void readers_enter_until_one_waits(Mutex& mutex) {
  std::thread([&] {
    for (;;) {
      typename Mutex::scoped_lock lock;
      if (!lock.try_acquire(mutex, false)) break;
      lock.release();
      std::this_thread::yield();
    }
  }).join();
}

TYPED_TEST(RwMutex, ReadersShareAndWritersAreAlone) {
  TypeParam mutex;
  typename TypeParam::scoped_lock reader(mutex, false);
  EXPECT_FALSE(reader.is_writer());
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_FALSE(other.try_acquire(mutex));
    EXPECT_TRUE(other.try_acquire(mutex, false));
    EXPECT_FALSE(other.is_writer());
    other.release();
    other.acquire(mutex, false);
  }).join();
  reader.release();
  typename TypeParam::scoped_lock writer(mutex);
  EXPECT_TRUE(writer.is_writer());
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_FALSE(other.try_acquire(mutex));
    EXPECT_FALSE(other.try_acquire(mutex, false));
  }).join();
}

TYPED_TEST(RwMutex, Mixture) {
  using Lock = typename TypeParam::scoped_lock;
  TypeParam mutex;
  long count = 0;
  long copy = 0;
  std::atomic<long> writes{0};
  run_threads(kThreads, [&](int thread) {
    unsigned random = unsigned(thread) + 1;
    for (int i = 0; i < 3000; ++i) {
      random = random * 1664525 + 1013904223;
      const unsigned what = random >> 24;
      Lock lock;
      if (what < 40) {
        lock.acquire(mutex);
      } else if (what < 60) {
        if (!lock.try_acquire(mutex)) continue;
      } else {
        lock.acquire(mutex, false);
        EXPECT_EQ(count, copy);
        if (what >= 120) continue;
        const long seen = count;
        if (lock.upgrade_to_writer()) {
          EXPECT_EQ(count, seen);
        }
      }
      EXPECT_TRUE(lock.is_writer());
      ++count;
      writes.fetch_add(1, std::memory_order_relaxed);
      copy = count;
      if (what % 2 == 0) {
        const long mine = count;
        EXPECT_TRUE(lock.downgrade_to_reader());
        EXPECT_EQ(count, mine);
      }
    }
  });
  EXPECT_EQ(count, writes.load());
}

TYPED_TEST(RwMutex, UpgradeOfTheOnlyReader) {
  TypeParam mutex;
  typename TypeParam::scoped_lock lock(mutex, false);
  EXPECT_TRUE(lock.upgrade_to_writer());
  EXPECT_TRUE(lock.is_writer());
  EXPECT_TRUE(lock.upgrade_to_writer());
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_FALSE(other.try_acquire(mutex, false));
  }).join();
  EXPECT_TRUE(lock.downgrade_to_reader());
  EXPECT_FALSE(lock.is_writer());
  EXPECT_TRUE(lock.downgrade_to_reader());
  std::thread([&] {
    typename TypeParam::scoped_lock other;
    EXPECT_TRUE(other.try_acquire(mutex, false));
    other.release();
    EXPECT_FALSE(other.try_acquire(mutex, true));
  }).join();
}

// The upgrading reader waits for the other reader, and admits no third.
TYPED_TEST(RwMutex, UpgradeWaitsForReaders) {
  using Lock = typename TypeParam::scoped_lock;
  TypeParam mutex;
  std::atomic<bool> upgraded{false};
  Lock reader(mutex, false);
  std::thread upgrader([&] {
    Lock lock(mutex, false);
    EXPECT_TRUE(lock.upgrade_to_writer());
    upgraded.store(true);
  });
  // Until the upgrading reader waits, others are admitted.
  readers_enter_until_one_waits(mutex);
  let_others_wait();
  EXPECT_FALSE(upgraded.load());
  reader.release();
  upgrader.join();
  EXPECT_TRUE(upgraded.load());
}

// Of two upgrading readers, exactly one is told that no writer came in between.
TYPED_TEST(RwMutex, TwoUpgraders) {
  using Lock = typename TypeParam::scoped_lock;
  for (int i = 0; i < 100; ++i) {
    TypeParam mutex;
    std::atomic<int> readers{0};
    std::atomic<int> undisturbed{0};
    int value = 0;
    run_threads(2, [&](int) {
      Lock lock(mutex, false);
      readers.fetch_add(1);
      while (readers.load() < 2) std::this_thread::yield();
      const int seen = value;
      if (lock.upgrade_to_writer()) {
        undisturbed.fetch_add(1);
        EXPECT_EQ(value, seen);
      } else {
        EXPECT_EQ(value, 1);
      }
      ++value;
    });
    EXPECT_EQ(undisturbed.load(), 1);
    EXPECT_EQ(value, 2);
  }
}

// A downgrade admits waiting readers, but no writer.
TYPED_TEST(RwMutex, DowngradeLetsReadersIn) {
  using Lock = typename TypeParam::scoped_lock;
  TypeParam mutex;
  Lock lock(mutex, true);
  std::thread reader([&] { Lock other(mutex, false); });
  let_others_wait();
  lock.downgrade_to_reader();
  reader.join();  // would block forever
  std::atomic<bool> entered{false};
  std::thread writer([&] {
    Lock other(mutex, true);
    entered.store(true);
  });
  let_others_wait();
  EXPECT_FALSE(entered.load());
  lock.release();
  writer.join();
}

// A waiting writer keeps later readers out.
TYPED_TEST(RwMutex, WritersAreNotStarved) {
  using Lock = typename TypeParam::scoped_lock;
  TypeParam mutex;
  Lock reader(mutex, false);
  std::atomic<bool> entered{false};
  std::thread writer([&] {
    Lock lock(mutex, true);
    entered.store(true);
  });
  // Until the writer waits, readers are admitted.
  readers_enter_until_one_waits(mutex);
  EXPECT_FALSE(entered.load());
  reader.release();
  writer.join();
}

template <typename Mutex>
class SharedMutex : public testing::Test {};
using SharedMutexes =
    testing::Types<tbb::spin_rw_mutex, tbb::speculative_spin_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(SharedMutex, SharedMutexes);

TYPED_TEST(SharedMutex, WorksWithTheStandardsLocks) {
  TypeParam mutex;
  long plain_count = 0;
  run_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      if (thread == 0) {
        std::unique_lock<TypeParam> lock(mutex);
        ++plain_count;
      } else {
        std::shared_lock<TypeParam> lock(mutex);
        EXPECT_LE(plain_count, 2000);
      }
    }
  });
  EXPECT_EQ(plain_count, 2000);
  std::shared_lock<TypeParam> lock(mutex, std::try_to_lock);
  EXPECT_TRUE(lock.owns_lock());
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
  }).join();
}

// ---- order --------------------------------------------------------------------------------------

// Waiters are served in the order of their arrival.
template <typename Lock, typename Mutex>
void expect_order(Mutex& mutex) {
  std::vector<int> order;
  std::vector<std::thread> threads;
  std::atomic<int> arrived{0};
  {
    Lock lock(mutex);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&order, &mutex, &arrived, t] {
        ++arrived;
        Lock mine(mutex);
        order.push_back(t);
      });
      // A thread's place in the queue cannot be observed. At this point it is about to enter.
      while (arrived <= t) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(QueuingMutex, ServesInOrder) {
  tbb::queuing_mutex mutex;
  expect_order<tbb::queuing_mutex::scoped_lock>(mutex);
}

TEST(QueuingRwMutex, ServesInOrder) {
  tbb::queuing_rw_mutex mutex;
  expect_order<tbb::queuing_rw_mutex::scoped_lock>(mutex);
}

}  // namespace
