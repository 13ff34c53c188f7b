// SPDX-License-Identifier: Apache-2.0
// The algorithm of the libraries' lock: one word, a short spin, then sleep in the kernel. It is
// "mutex2" of U. Drepper, "Futexes Are Tricky" (2011), except that the word names the holder: a
// signal handler can tell whether the thread that it interrupted holds the lock, because a single
// step takes the lock and writes the name.
//
// A word without a name is a free lock: 0, or kWaitedFor alone while a waiter that has set this bit
// is about to take the lock. No wake-up is lost. A waiter sleeps only while the word is what its
// step (4) left there: a name and kWaitedFor. Either (4) comes before that holder's (2), which sees
// the bit and wakes a waiter; or it comes after, and finds no such name. A waiter that takes the
// lock in (3) keeps the bit, because it cannot know whether others still sleep.
//
// The atomics and the system are parameters, so that a model checker runs this very source
// (test/model/mutex_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sync {

// `System` has kSpins and pause(), and wait(word, expected) and wake_one(word) as in os.hpp. Its
// self() is the calling thread's name: not 0, less than 2^31, and no other thread's.
template <template <typename> class Atomic, typename System>
class BasicMutex {
 public:
  bool try_lock() {
    std::uint32_t free = kFree;
    // (1) acquire: sees what the last holder wrote before (2). relaxed on failure: the caller reads
    // nothing that the lock protects
    return word_.compare_exchange_strong(free, System::self() << 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // Whether the calling thread holds the lock; also in a signal handler, wherever the signal came.
  // relaxed: only the calling thread itself writes its name into the word, or removes it
  bool is_held_by_self() const {
    return word_.load(std::memory_order_relaxed) >> 1 == System::self();
  }

  // Takes the lock after try_lock() has failed.
  void lock_contended() {
    // Critical sections are tens of instructions long: on several cores a short spin beats a sleep.
    for (int i = 0; i < System::kSpins; ++i) {
      System::pause();
      if (try_lock()) return;
    }
    const std::uint32_t mine = System::self() << 1 | kWaitedFor;
    for (;;) {
      // (4) relaxed: the waiter reads nothing that the lock protects before (3)
      const std::uint32_t word = word_.fetch_or(kWaitedFor, std::memory_order_relaxed);
      if (word >> 1 != 0) {
        System::wait(word_, word | kWaitedFor);
        continue;
      }
      std::uint32_t free = kWaitedFor;
      // (3) acquire: sees what the last holder wrote before (2); (4) continues the release sequence
      // of (2). relaxed on failure: another thread has the lock
      if (word_.compare_exchange_strong(free, mine, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
  }

  void unlock() {
    // (2) release: publishes the critical section to (1) and (3)
    const std::uint32_t word = word_.exchange(kFree, std::memory_order_release);
    if ((word & kWaitedFor) != 0) System::wake_one(word_);
  }

  // Frees the lock where no other thread exists. relaxed: for that reason
  void reset() { word_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kWaitedFor = 1;  // the other bits are the holder's name

  Atomic<std::uint32_t> word_{kFree};
};

}  // namespace corbel::sync
