// SPDX-License-Identifier: Apache-2.0
// The allocator's only lock: one word, a short spin, then sleep in the kernel.
//
// Algorithm: "mutex2" of U. Drepper, "Futexes Are Tricky" (2011). Locks have ranks: a thread takes
// them in ascending order only, which debug builds check, so that they can never deadlock.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/arch.hpp"
#include "base/config.hpp"
#include "os/os.hpp"

namespace corbel::sync {

class Lock {
 public:
  // A higher rank may be taken while a lower one is held.
  explicit constexpr Lock(int rank = 0) : rank_(rank) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool try_lock() {
    std::uint32_t free = kFree;
    // (1) acquire: sees what the last holder did before (2); relaxed on failure: nothing is read
    const bool taken = word_.compare_exchange_strong(
        free, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
    if (taken) note_taken();
    return taken;
  }

  void lock() {
    if constexpr (config::kDebugChecks) check_rank();
    if (!try_lock()) lock_contended();
  }

  void unlock() {
    note_released();
    // (2) release: publishes the critical section to (1) and (3)
    if (word_.exchange(kFree, std::memory_order_release) == kWaitedFor) os::wake_one(word_);
  }

  // For the child of a fork, in which no other thread exists.
  void reset() {
    note_released();
    word_.store(kFree, std::memory_order_relaxed);  // relaxed: there is no other thread
  }

 private:
  enum : std::uint32_t { kFree, kHeld, kWaitedFor };

  void lock_contended();
  void check_rank() const;
  void note_taken() {
    if constexpr (config::kDebugChecks) held_ranks_ |= 1U << rank_;
  }
  void note_released() {
    if constexpr (config::kDebugChecks) held_ranks_ &= ~(1U << rank_);
  }

  static thread_local constinit std::uint32_t held_ranks_;

  std::atomic<std::uint32_t> word_{kFree};
  const int rank_;
};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace corbel::sync
