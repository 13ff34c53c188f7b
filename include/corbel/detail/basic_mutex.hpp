// SPDX-License-Identifier: Apache-2.0
// The algorithms of the exclusive locks: one that spins and one that sleeps. Not for programs to
// include.
#ifndef CORBEL_DETAIL_BASIC_MUTEX_HPP
#define CORBEL_DETAIL_BASIC_MUTEX_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Test-and-test-and-set with a growing pause, after T. Anderson, "The Performance of Spin Lock
// Alternatives for Shared-Memory Multiprocessors" (1990).
class spinning_mutex {
 public:
  void lock() noexcept {
    backoff wait;
    while (!try_lock()) {
      // Reads before it tries again: stores by waiting threads would take the cache line away from
      // the holder. relaxed: try_lock() decides.
      do wait.pause();
      while (held_.load(std::memory_order_relaxed));
    }
  }

  bool try_lock() noexcept {
    // (1) acquire: sees the last critical section, which (2) published
    return !held_.exchange(true, std::memory_order_acquire);
  }

  // (2) release: publishes the critical section to (1)
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

  // Whether no thread holds the lock.
  bool is_free() const noexcept {
    return !held_.load(std::memory_order_relaxed);  // relaxed: a hint, or read in a transaction
  }

 private:
  std::atomic<bool> held_{false};
};

// A futex lock with a short spin: "mutex2" of U. Drepper, "Futexes Are Tricky" (2011). The
// allocator's lock uses the same algorithm.
//
// No wake-up is lost. Either a waiting thread's exchange (3) comes before the holder's (2), which
// then sees kWaitedFor and wakes a thread, or it comes after and finds the lock free. A woken
// thread stores kWaitedFor again, since it cannot know whether others sleep. After (2) the holder
// no longer accesses the lock, since the next holder may destroy it: the wake-up uses only the
// address.
//
// The atomics and the system are parameters so that a model checker can run this very source
// (test/model/locks_model.cpp).
template <template <typename> class Atomic, typename System>
class basic_mutex {
 public:
  void lock() noexcept {
    if (!try_lock()) lock_contended();
  }

  bool try_lock() noexcept {
    std::uint32_t free = kFree;
    // (1) acquire: sees the last critical section, which (2) published. relaxed on failure: nothing
    // is read.
    return word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // (2) release: publishes the critical section to (1) and (3)
    if (word_.exchange(kFree, std::memory_order_release) == kWaitedFor) System::wake_one(word_);
  }

 private:
  enum : std::uint32_t { kFree, kHeld, kWaitedFor };

  void lock_contended() noexcept {
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause(i);
      if (try_lock()) return;
    }
    // (3) acquire: sees the last critical section, which (2) published
    while (word_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
      System::wait(word_, kWaitedFor);
    }
  }

  Atomic<std::uint32_t> word_{kFree};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_BASIC_MUTEX_HPP
