// SPDX-License-Identifier: Apache-2.0
// The algorithm of the reader-writer locks without a queue: one word holds the readers and writer
// that are inside and whether a writer waits. Not for programs to include.
#ifndef CORBEL_DETAIL_BASIC_RW_MUTEX_HPP
#define CORBEL_DETAIL_BASIC_RW_MUTEX_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// The word, after the central reader-writer lock with writer preference of J. Mellor-Crummey and
// M. Scott, "Scalable Reader-Writer Synchronization for Shared-Memory Multiprocessors" (1991):
//
//   kWriter    a writer is inside; or, while readers are counted, one of them is upgrading and
//              waits for the others to leave
//   kClaimed   a writer waits: new readers wait too. Each waiting writer sets it when it finds it
//              clear; each writer that enters clears it. So it never stays set without a waiting
//              writer. It may be clear while writers wait, which costs them only their preference.
//   kSleepers  a thread may be asleep on the word
//   kReader    times the number of readers inside
//
// Mutual exclusion: kWriter is set only while it is clear, by a reader that is inside or while no
// reader is inside. A reader is counted only while kWriter is clear. An upgrader that has set
// kWriter is alone once it is the only reader counted.
//
// No thread sleeps forever: a sleeping thread has seen, in the word it sleeps on, kSleepers and a
// reason to wait: kWriter, readers, or kClaimed. Each step that ends a reason (the writer leaves or
// downgrades; the last reader leaves; the last but one leaves an upgrader alone) is one
// read-modify-write that also clears kSleepers, and wakes all sleeping threads if it was set.
// Either that step comes before the thread's last look, which finds another word and does not
// sleep, or the thread's kSleepers comes before the step, which wakes it. kClaimed ends when its
// writer enters, which sets kWriter, the next reason. After that step the leaving thread no longer
// accesses the lock, since the next holder may destroy it.
//
// All changes are read-modify-writes, so each release heads a release sequence that every later
// acquire reads from: a writer that enters sees what all readers and writers before it did.
//
// The atomics and the system are parameters so that a model checker can run this very source
// (test/model/locks_model.cpp).
template <template <typename> class Atomic, typename System>
class basic_rw_mutex {
 public:
  void lock() noexcept {
    if (!try_lock()) {
      waiting wait(*this);
      for (;;) {
        // relaxed: the read-modify-write that follows decides
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        if ((seen & (kWriter | kReaders)) == 0) {
          if (enter(seen, (seen & ~kClaimed) | kWriter)) return;
        } else if ((seen & kClaimed) == 0) {
          claim(seen);
        } else {
          wait.once(seen);
        }
      }
    }
  }

  bool try_lock() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    while ((seen & (kWriter | kReaders)) == 0) {
      if (enter(seen, (seen & ~kClaimed) | kWriter)) return true;
    }
    return false;
  }

  void unlock() noexcept {
    // (2) release: publishes the critical section to (1). kClaimed stays: a waiting writer is next.
    const std::uint32_t seen = word_.fetch_and(~(kWriter | kSleepers), std::memory_order_release);
    if (System::kSleeps && (seen & kSleepers) != 0) System::wake_all(word_);
  }

  // Called by a thread that is inside: returns whether it is a reader.
  bool has_readers() const noexcept {
    // relaxed: a reader sees at least its own count
    return (word_.load(std::memory_order_relaxed) & kReaders) != 0;
  }

  // Whether no thread is inside.
  bool is_free() const noexcept {
    // relaxed: a hint, or read in a transaction
    return (word_.load(std::memory_order_relaxed) & (kWriter | kReaders)) == 0;
  }

  void lock_shared() noexcept {
    if (!try_lock_shared()) {
      waiting wait(*this);
      for (;;) {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
        if ((seen & (kWriter | kClaimed)) == 0) {
          if (enter(seen, seen + kReader)) return;
        } else {
          wait.once(seen);
        }
      }
    }
  }

  bool try_lock_shared() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    while ((seen & (kWriter | kClaimed)) == 0) {
      if (enter(seen, seen + kReader)) return true;
    }
    return false;
  }

  void unlock_shared() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    for (;;) {
      std::uint32_t after = seen - kReader;
      const bool ends_a_reason =
          (after & kReaders) == 0 || ((after & kReaders) == kReader && (after & kWriter) != 0);
      if (ends_a_reason) after &= ~kSleepers;
      // (3) release: orders what this reader did before the writer that enters by (1) or (4)
      if (word_.compare_exchange_weak(seen, after, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        if (System::kSleeps && ends_a_reason && (seen & kSleepers) != 0) System::wake_all(word_);
        return;
      }
    }
  }

  // Makes the calling reader the writer. Returns false if another reader was upgrading: then the
  // lock was released in between, and what it protects may have changed.
  bool upgrade() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    do {
      if ((seen & kWriter) != 0) {
        unlock_shared();
        lock();
        return false;
      }
      // relaxed: (4) acquires what the other readers did
    } while (!word_.compare_exchange_weak(seen, seen | kWriter, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    waiting wait(*this);
    // (4) acquire: sees what the readers did that have left by (3)
    while (((seen = word_.load(std::memory_order_acquire)) & kReaders) != kReader) wait.once(seen);
    word_.fetch_sub(kReader, std::memory_order_relaxed);  // relaxed: lets no thread in
    return true;
  }

  // Makes the calling writer a reader, without letting another writer in.
  void downgrade() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    // (5) release: publishes the critical section to the readers that enter by (1)
    while (!word_.compare_exchange_weak(seen, (seen & ~(kWriter | kSleepers)) + kReader,
                                        std::memory_order_release, std::memory_order_relaxed)) {
    }
    if (System::kSleeps && (seen & kSleepers) != 0) System::wake_all(word_);
  }

 private:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kClaimed = 2;
  static constexpr std::uint32_t kSleepers = 4;
  static constexpr std::uint32_t kReader = 8;
  static constexpr std::uint32_t kReaders = ~std::uint32_t{7};

  bool enter(std::uint32_t& seen, std::uint32_t wanted) noexcept {
    // (1) acquire: sees what was done before (2), (3) and (5). relaxed on failure: tried again.
    return word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  void claim(std::uint32_t seen) noexcept {
    // relaxed: publishes nothing. The next look shows whether it succeeded.
    word_.compare_exchange_weak(seen, seen | kClaimed, std::memory_order_relaxed,
                                std::memory_order_relaxed);
  }

  // The state of one wait: pauses first, then sleeps if the system can.
  class waiting {
   public:
    explicit waiting(basic_rw_mutex& lock) noexcept : lock_(lock) {}

    // Waits once. `seen` is the word that holds the reason to wait.
    void once(std::uint32_t seen) noexcept {
      if (!System::kSleeps || round_ < System::kSpins) {
        System::pause(round_);
        if (round_ < 64) ++round_;
        return;
      }
      // relaxed: publishes nothing, and the kernel reads the word again
      if ((seen & kSleepers) != 0 ||
          lock_.word_.compare_exchange_weak(seen, seen | kSleepers, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
        System::wait(lock_.word_, seen | kSleepers);
      }
    }

   private:
    basic_rw_mutex& lock_;
    int round_ = 0;
  };

  Atomic<std::uint32_t> word_{0};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_BASIC_RW_MUTEX_HPP
