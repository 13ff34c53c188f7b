// SPDX-License-Identifier: Apache-2.0
// The algorithm of the libraries' lock: one word, a short spin, then sleep in the kernel. It is
// "mutex2" of U. Drepper, "Futexes Are Tricky" (2011).
//
// No wake-up is lost. Either a waiter's exchange (3) comes before the holder's (2), which sees
// kWaitedFor and wakes a waiter; or it comes after, and finds the lock free. A waiter that was
// woken stores kWaitedFor again, because it cannot know whether others still sleep.
//
// The atomics and the system are parameters, so that a model checker runs this very source
// (test/model/mutex_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sync {

// `System` has kSpins and pause(), and wait(word, expected) and wake_one(word) as in os.hpp.
template <template <typename> class Atomic, typename System>
class BasicMutex {
 public:
  bool try_lock() {
    std::uint32_t free = kFree;
    // (1) acquire: sees what the last holder wrote before (2). relaxed on failure: the caller reads
    // nothing that the lock protects
    return word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // Takes the lock after try_lock() has failed.
  void lock_contended() {
    // Critical sections are tens of instructions long: on several cores a short spin beats a sleep.
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause();
      if (try_lock()) return;
    }
    // (3) acquire: sees what the last holder wrote before (2)
    while (word_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) {
      System::wait(word_, kWaitedFor);
    }
  }

  void unlock() {
    // (2) release: publishes the critical section to (1) and (3)
    if (word_.exchange(kFree, std::memory_order_release) == kWaitedFor) System::wake_one(word_);
  }

  // Frees the lock where no other thread exists. relaxed: for that reason
  void reset() { word_.store(kFree, std::memory_order_relaxed); }

 private:
  enum : std::uint32_t { kFree, kHeld, kWaitedFor };

  Atomic<std::uint32_t> word_{kFree};
};

}  // namespace corbel::sync
