// SPDX-License-Identifier: Apache-2.0
// The allocator's lock: one holder at a time, no waiter forgotten, ranks checked in debug builds.
#include "sync/lock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace corbel::sync {
namespace {

TEST(Lock, OneHolderAtATime) {
  Lock lock(1);
  long plain_count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        LockGuard guard(lock);
        ++plain_count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plain_count, 80000);
}

// The holder sleeps, so that the others stop spinning and wait in the kernel. Every waiter must be
// woken in turn.
TEST(Lock, ParkedWaitersAreWoken) {
  Lock lock(1);
  int entered = 0;
  std::vector<std::thread> threads;
  lock.lock();
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      LockGuard guard(lock);
      ++entered;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(entered, 0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, 6);
}

TEST(Lock, TryLockFailsWhileHeld) {
  Lock lock(1);
  EXPECT_TRUE(lock.try_lock());
  bool taken = true;
  std::thread([&] { taken = lock.try_lock(); }).join();
  EXPECT_FALSE(taken);
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(Lock, TheForkingThreadPassesHeldLocks) {
  Lock lock(1);
  Lock::begin_fork();
  lock.lock_for_fork();
  bool taken = true;
  {
    LockGuard guard(lock);  // would block forever
    std::thread([&] { taken = lock.try_lock(); }).join();
    EXPECT_FALSE(taken);
  }
  std::thread([&] { taken = lock.try_lock(); }).join();
  EXPECT_FALSE(taken) << "the guard released a lock that the fork holds";
  lock.unlock_after_fork_in_parent();
  Lock::end_fork();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(Lock, IsFreeInTheChildOfAFork) {
  Lock lock(1);
  Lock::begin_fork();
  lock.lock_for_fork();
  lock.unlock_after_fork_in_child();
  Lock::end_fork();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(Lock, AscendingRanksAreAllowed) {
  Lock low(1);
  Lock high(2);
  for (int i = 0; i < 2; ++i) {
    LockGuard first(low);
    LockGuard second(high);
  }
}

TEST(LockDeathTest, DescendingRanksEndTheProcess) {
  if constexpr (!config::kDebugChecks) GTEST_SKIP() << "ranks are checked in debug builds only";
  EXPECT_DEATH(
      {
        Lock low(1);
        Lock high(2);
        LockGuard first(high);
        LockGuard second(low);
      },
      "lock of rank 1 taken out of order");
}

}  // namespace
}  // namespace corbel::sync
