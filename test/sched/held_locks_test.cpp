// SPDX-License-Identifier: Apache-2.0
// With TBB_USE_DEBUG the library counts the locks that a thread holds, and misuse ends the program.
#define TBB_USE_DEBUG 1
#include <gtest/gtest.h>
#include <tbb/mutex.h>
#include <tbb/queuing_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/recursive_mutex.h>
#include <tbb/rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <shared_mutex>
#include <thread>

namespace {

using corbel::detail::own_held_locks;

template <typename Mutex>
class HeldLocks : public testing::Test {};
using AllMutexes =
    testing::Types<tbb::spin_mutex, tbb::speculative_spin_mutex, tbb::queuing_mutex, tbb::mutex,
                   tbb::recursive_mutex, tbb::spin_rw_mutex, tbb::speculative_spin_rw_mutex,
                   tbb::queuing_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(HeldLocks, AllMutexes);

TYPED_TEST(HeldLocks, AreCounted) {
  using Lock = typename TypeParam::scoped_lock;
  TypeParam mutex;
  EXPECT_EQ(own_held_locks(), 0);
  {
    Lock lock(mutex);
    EXPECT_EQ(own_held_locks(), 1);
    std::thread([&] {
      EXPECT_EQ(own_held_locks(), 0);
      Lock other;
      EXPECT_FALSE(other.try_acquire(mutex));
      EXPECT_EQ(own_held_locks(), 0);
    }).join();
    TypeParam another;
    Lock second;
    EXPECT_TRUE(second.try_acquire(another));
    EXPECT_EQ(own_held_locks(), 2);
    second.release();
    EXPECT_EQ(own_held_locks(), 1);
  }
  EXPECT_EQ(own_held_locks(), 0);
}

template <typename Mutex>
class HeldRwLocks : public testing::Test {};
using RwMutexes = testing::Types<tbb::spin_rw_mutex, tbb::queuing_rw_mutex, tbb::rw_mutex>;
TYPED_TEST_SUITE(HeldRwLocks, RwMutexes);

TYPED_TEST(HeldRwLocks, AreCounted) {
  TypeParam mutex;
  typename TypeParam::scoped_lock lock(mutex, false);
  EXPECT_EQ(own_held_locks(), 1);
  lock.upgrade_to_writer();
  EXPECT_EQ(own_held_locks(), 1);
  lock.downgrade_to_reader();
  EXPECT_EQ(own_held_locks(), 1);
  lock.release();
  EXPECT_EQ(own_held_locks(), 0);
  EXPECT_TRUE(lock.try_acquire(mutex, false));
  EXPECT_EQ(own_held_locks(), 1);
  lock.release();
  EXPECT_EQ(own_held_locks(), 0);
}

TEST(HeldLocksOfTheStandard, AreCounted) {
  tbb::rw_mutex mutex;
  {
    std::shared_lock<tbb::rw_mutex> lock(mutex);
    EXPECT_EQ(own_held_locks(), 1);
  }
  {
    std::unique_lock<tbb::rw_mutex> lock(mutex, std::try_to_lock);
    EXPECT_EQ(own_held_locks(), 1);
  }
  EXPECT_EQ(own_held_locks(), 0);
}

TEST(LocksDeathTest, MisuseIsFound) {
  tbb::mutex mutex;
  tbb::mutex::scoped_lock lock;
  EXPECT_DEATH(lock.release(), "holds no mutex");
  lock.acquire(mutex);
  EXPECT_DEATH(lock.acquire(mutex), "already holds a mutex");
  tbb::queuing_rw_mutex::scoped_lock shared;
  EXPECT_DEATH(shared.upgrade_to_writer(), "holds no mutex");
}

}  // namespace
