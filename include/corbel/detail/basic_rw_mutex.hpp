// SPDX-License-Identifier: Apache-2.0
// The algorithm of the reader-writer locks that keep no queue: one word that says who is inside and
// who wants to be. Not for programs to include.
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
//   kWriter    a writer is inside; or, while readers are counted, one of them is becoming the
//              writer and waits for the others to leave
//   kClaimed   a writer waits: readers that come later wait too. Set by each waiting writer after
//              each look; cleared by each one that gets in. So it never stays set with no writer
//              waiting, and may be missing with some waiting, which costs them their preference
//              and nothing else
//   kSleepers  somebody may be asleep on the word
//   kReader    times the number of readers inside
//
// Writers in = readers out: kWriter is set only where no kWriter is, and by whom is inside as a
// reader, or where no reader is; a reader is counted only where no kWriter is. An upgrader that has
// set kWriter is alone when it is the only reader counted.
//
// Nobody sleeps for ever: who sleeps has seen, in the word it sleeps on, kSleepers and a reason to
// wait: kWriter, readers, or kClaimed. Each step that ends a reason (the writer leaves or becomes a
// reader; the last reader leaves; the last but one leaves an upgrader alone) is one read-modify-
// write that also clears kSleepers, and if it was set all are woken. Either that step comes before
// the sleeper's last look, which finds another word and does not sleep, or the sleeper's kSleepers
// comes before the step, which wakes it. kClaimed ends when its writer gets in, which sets kWriter,
// the next reason. After that step the lock is no longer touched by who left, so that the
// next holder may end its life.
//
// All changes are read-modify-writes, so each release heads a sequence that every later acquire
// reads from: a writer that comes in sees what all readers and writers before it did.
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
        // relaxed: what decides is the read-modify-write that follows
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
    // (2) release: publishes the section to (1). kClaimed stays: a writer that waits comes next.
    const std::uint32_t seen = word_.fetch_and(~(kWriter | kSleepers), std::memory_order_release);
    if (System::kSleeps && (seen & kSleepers) != 0) System::wake_all(word_);
  }

  // For one that is inside: whether as a reader.
  bool has_readers() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kReaders) != 0;  // relaxed: its own at least
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
      // (3) release: the writer that comes in by (1) or (4) finds this reader gone
      if (word_.compare_exchange_weak(seen, after, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        if (System::kSleeps && ends_a_reason && (seen & kSleepers) != 0) System::wake_all(word_);
        return;
      }
    }
  }

  // Makes the reader that calls it the writer. False when another reader was about to become it:
  // then the lock was given back for a while, and what it protects may have changed.
  bool upgrade() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    do {
      if ((seen & kWriter) != 0) {
        unlock_shared();
        lock();
        return false;
      }
      // relaxed: what comes after the others have left is acquired by (4)
    } while (!word_.compare_exchange_weak(seen, seen | kWriter, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    waiting wait(*this);
    // (4) acquire: sees what the readers did that have left by (3)
    while (((seen = word_.load(std::memory_order_acquire)) & kReaders) != kReader) wait.once(seen);
    word_.fetch_sub(kReader, std::memory_order_relaxed);  // relaxed: nobody is let in by this
    return true;
  }

  // Makes the writer that calls it a reader, without letting another writer in.
  void downgrade() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // relaxed: as in lock()
    // (5) release: publishes the section to the readers that come in by (1)
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
    // (1) acquire: sees what was done before (2), (3) and (5); relaxed on failure: tried again
    return word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  void claim(std::uint32_t seen) noexcept {
    // relaxed: nobody acquires from it; whether it succeeds the next look tells
    word_.compare_exchange_weak(seen, seen | kClaimed, std::memory_order_relaxed,
                                std::memory_order_relaxed);
  }

  // One stay in a loop: first pauses, then, if the system has it, sleep.
  class waiting {
   public:
    explicit waiting(basic_rw_mutex& lock) noexcept : lock_(lock) {}

    // `seen` is the word that gives the reason.
    void once(std::uint32_t seen) noexcept {
      if (!System::kSleeps || round_ < System::kSpins) {
        System::pause(round_);
        if (round_ < 64) ++round_;
        return;
      }
      // relaxed: nobody acquires from it, and the kernel looks again
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
