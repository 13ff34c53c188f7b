// SPDX-License-Identifier: Apache-2.0
// Locks that run critical sections as transactions: when they begin one, end it, or take the lock,
// with transactions that the test scripts. The processor's own are tested where it has them.
#include <gtest/gtest.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/basic_rw_mutex.hpp>
#include <corbel/detail/elided_lock.hpp>

#include <atomic>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

namespace detail = corbel::detail;

constexpr unsigned kStarted = detail::kTransactionStarted;
constexpr unsigned kConflict = detail::kConflict;
constexpr unsigned kCapacity = 1U << 3;

// The transactions of this thread: they begin with the statuses of the script, then always start.
struct Script {
  bool available = true;
  std::vector<unsigned> statuses;
  std::function<void()> at_begin;  // what another thread does between the look and the begin
  int begun = 0;
  int ended = 0;
  int depth = 0;
};
Script script;
std::atomic<int> aborted{0};  // how many, also read by other threads

struct Scripted {
  static bool is_available() noexcept { return script.available; }
  static unsigned begin() noexcept {
    ++script.begun;
    if (script.at_begin) script.at_begin();
    unsigned status = kStarted;
    if (!script.statuses.empty()) {
      status = script.statuses.front();
      script.statuses.erase(script.statuses.begin());
    }
    if (status == kStarted) ++script.depth;
    return status;
  }
  static void end() noexcept {
    ++script.ended;
    --script.depth;
  }
  static unsigned abort() noexcept {
    script.depth = 0;
    ++aborted;
    return detail::kAbortedByLock;
  }
};

using Mutex = detail::elided_lock<detail::spinning_mutex, Scripted>;
using RwMutex =
    detail::elided_lock<detail::basic_rw_mutex<std::atomic, detail::spinning_wait>, Scripted>;

class Elision : public testing::Test {
 protected:
  Elision() {
    script = Script();
    aborted = 0;
  }
  ~Elision() override { EXPECT_EQ(script.depth, 0); }
};

TEST_F(Elision, DoesNotTakeTheLock) {
  Mutex mutex;
  mutex.lock();
  EXPECT_EQ(script.depth, 1);
  EXPECT_TRUE(mutex.is_free());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_TRUE(mutex.is_free());
  mutex.unlock();
  EXPECT_EQ(script.begun, 2);
  EXPECT_EQ(script.ended, 2);
}

TEST_F(Elision, WithoutTransactionsTakesTheLock) {
  script.available = false;
  Mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.is_free());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.is_free());
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.is_free());
  mutex.unlock();
  RwMutex rw_mutex;
  rw_mutex.lock_shared();
  EXPECT_FALSE(rw_mutex.is_free());
  EXPECT_TRUE(rw_mutex.try_lock_shared());
  rw_mutex.unlock_shared();
  EXPECT_TRUE(rw_mutex.upgrade());
  EXPECT_FALSE(rw_mutex.try_lock_shared());
  rw_mutex.downgrade();
  EXPECT_TRUE(rw_mutex.try_lock_shared());
  rw_mutex.unlock_shared();
  rw_mutex.unlock_shared();
  EXPECT_TRUE(rw_mutex.is_free());
  rw_mutex.unlock_shared();  // nothing to unlock: no instruction that is missing
  EXPECT_EQ(script.begun + script.ended + aborted, 0);
}

TEST_F(Elision, TriesAgainAfterAConflict) {
  script.statuses = {kConflict, detail::kMayRetry, kStarted};
  Mutex mutex;
  mutex.lock();
  EXPECT_TRUE(mutex.is_free());
  mutex.unlock();
  EXPECT_EQ(script.begun, 3);
}

TEST_F(Elision, TakesTheLockAfterSeveralConflicts) {
  script.statuses.assign(100, kConflict);
  Mutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.is_free());
  EXPECT_LT(script.begun, 10);
  mutex.unlock();
  EXPECT_TRUE(mutex.is_free());
  EXPECT_EQ(script.ended, 0);
}

TEST_F(Elision, TakesTheLockIfThereIsNoHope) {
  for (const unsigned reason : {0U, kCapacity, 0x05000001U /* xabort by the program */}) {
    script.statuses = {reason, kStarted, kStarted};
    script.begun = 0;
    Mutex mutex;
    mutex.lock();
    EXPECT_FALSE(mutex.is_free());
    EXPECT_EQ(script.begun, 1);
    mutex.unlock();
  }
}

// Another thread takes the lock after this one has seen it free. The transaction must not go on.
TEST_F(Elision, AbortsIfTheLockIsTaken) {
  detail::elided_lock<detail::spinning_mutex, Scripted> mutex;
  script.at_begin = [&] { static_cast<detail::spinning_mutex&>(mutex).lock(); };
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_EQ(aborted, 1);
  EXPECT_EQ(script.depth, 0);
  static_cast<detail::spinning_mutex&>(mutex).unlock();

  // lock() waits until it is free. It begins another one, or acquires the lock if that takes long.
  std::thread other;
  std::atomic<bool> has_left{false};
  script.at_begin = [&] {
    if (script.begun != 2) return;
    static_cast<detail::spinning_mutex&>(mutex).lock();
    other = std::thread([&] {
      while (aborted != 2) std::this_thread::yield();
      has_left = true;
      static_cast<detail::spinning_mutex&>(mutex).unlock();
    });
  };
  mutex.lock();
  EXPECT_TRUE(has_left);
  other.join();
  EXPECT_EQ(aborted, 2);
  mutex.unlock();
  EXPECT_TRUE(mutex.is_free());
}

TEST_F(Elision, OfReadersAndWriters) {
  RwMutex mutex;
  mutex.lock_shared();
  EXPECT_TRUE(mutex.is_free());
  EXPECT_TRUE(mutex.upgrade());
  EXPECT_TRUE(mutex.is_free());
  mutex.downgrade();
  EXPECT_TRUE(mutex.is_free());
  mutex.unlock_shared();
  mutex.lock();
  EXPECT_TRUE(mutex.is_free());
  mutex.downgrade();
  mutex.unlock_shared();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_shared());
  mutex.unlock_shared();
  EXPECT_EQ(script.ended, 4);
}

// A reader that holds the lock lets readers in, which then hold it too, and keeps writers out.
TEST_F(Elision, AReaderThatHoldsTheLock) {
  RwMutex mutex;
  script.statuses = {0};
  mutex.lock_shared();
  EXPECT_FALSE(mutex.is_free());
  EXPECT_FALSE(mutex.try_lock());
  mutex.lock_shared();
  EXPECT_TRUE(mutex.try_lock_shared());
  mutex.unlock_shared();
  mutex.unlock_shared();
  mutex.unlock_shared();
  EXPECT_TRUE(mutex.is_free());
  EXPECT_EQ(script.begun, 1);
}

// Readers that relieve each other do not keep a writer out: it announces itself.
TEST_F(Elision, AWriterThatWaitsForReaders) {
  RwMutex mutex;
  script.statuses = {0};
  mutex.lock_shared();
  std::thread writer([&] {
    mutex.lock();
    EXPECT_FALSE(mutex.is_free());
    mutex.unlock();
  });
  while (mutex.try_lock_shared()) {
    mutex.unlock_shared();
    std::this_thread::yield();
  }
  mutex.unlock_shared();
  writer.join();
  EXPECT_TRUE(mutex.is_free());
  EXPECT_EQ(script.begun, 1);
}

// A lock that is held, in a transaction, in the reverse order, and several transactions.
TEST_F(Elision, Nested) {
  Mutex outer, inner;
  script.statuses = {0};
  outer.lock();
  inner.lock();
  EXPECT_FALSE(outer.is_free());
  EXPECT_TRUE(inner.is_free());
  outer.unlock();
  EXPECT_EQ(script.depth, 1);
  inner.unlock();
  outer.lock();
  inner.lock();
  EXPECT_EQ(script.depth, 2);
  outer.unlock();
  inner.unlock();
  EXPECT_EQ(script.ended, 3);
}

// ---- the locks themselves -----------------------------------------------------------------------

// With the processor's transactions, if it has any.
template <typename ScopedLock, typename Lock, typename... Mode>
void count_in_threads(Lock& lock, Mode... mode) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  int first = 0, second = 0;  // equal outside of critical sections
  std::atomic<bool> torn{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        ScopedLock held(lock, mode...);
        if (first != second) torn = true;
        ++first;
        if (i % 1000 == 0) std::this_thread::yield();  // aborts a transaction
        ++second;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(first, kThreads * kRounds);
  EXPECT_EQ(second, kThreads * kRounds);
}

TEST(SpeculativeLocks, OneWriterAtATime) {
  tbb::speculative_spin_mutex mutex;
  count_in_threads<tbb::speculative_spin_mutex::scoped_lock>(mutex);
  tbb::speculative_spin_rw_mutex rw_mutex;
  count_in_threads<tbb::speculative_spin_rw_mutex::scoped_lock>(rw_mutex, true);
}

TEST(SpeculativeLocks, UpgradeAndDowngrade) {
  tbb::speculative_spin_rw_mutex mutex;
  int value = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        tbb::speculative_spin_rw_mutex::scoped_lock held(mutex, false);
        const int before = value;
        const bool unchanged = held.upgrade_to_writer();
        if (unchanged && value != before) ADD_FAILURE() << "another writer came in between";
        ++value;
        held.downgrade_to_reader();
        if (value <= before) ADD_FAILURE() << "an update is lost";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 20000);
}

TEST(SpeculativeLocks, AreTheElidedOnes) {
  static_assert(sizeof(tbb::speculative_spin_mutex) == detail::kCacheLine, "");
  static_assert(sizeof(tbb::speculative_spin_rw_mutex) == detail::kCacheLine, "");
  static_assert(tbb::speculative_spin_rw_mutex::is_rw_mutex, "");
  static_assert(!tbb::speculative_spin_mutex::is_recursive_mutex, "");
  static_assert(!tbb::speculative_spin_mutex::is_fair_mutex, "");
  tbb::speculative_spin_mutex mutex;
  tbb::speculative_spin_mutex::scoped_lock held(mutex);
  if (detail::hardware_transaction::is_available()) {
    GTEST_SKIP() << "a transaction does not show that it excludes others";
  }
  EXPECT_FALSE(mutex.try_lock());
}

}  // namespace
