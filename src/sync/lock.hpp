// SPDX-License-Identifier: Apache-2.0
// The allocator's only lock: the mutex of mutex.hpp and a rank. A thread takes locks in ascending
// order of rank only, which debug builds check, so that they can never deadlock.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/arch.hpp"
#include "base/config.hpp"
#include "os/os.hpp"
#include "sync/mutex.hpp"

namespace corbel::sync {

// What the mutex needs of the processor and the kernel.
struct MutexSystem {
  static constexpr int kSpins = 64;
  static void pause() { arch::pause(); }
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    os::wait(word, expected);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) { os::wake_one(word); }
};

class Lock {
 public:
  // A higher rank may be taken while a lower one is held.
  explicit constexpr Lock(int rank = 0) : rank_(rank) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool try_lock() {
    const bool taken = mutex_.try_lock();
    if (taken) note_taken();
    return taken;
  }

  void lock() {
    if (passes()) return;
    if constexpr (config::kDebugChecks) check_rank();
    if (!try_lock()) lock_contended();
  }

  void unlock() {
    if (passes()) return;
    note_released();
    mutex_.unlock();
  }

  // Around a fork one thread takes the locks and keeps them, while other fork handlers still run in
  // it and may use what the locks protect: until the release it passes through.
  void lock_for_fork() {
    lock();
    held_for_fork_ = true;
    forking_ = true;
  }
  void unlock_after_fork_in_parent() {
    held_for_fork_ = forking_ = false;
    unlock();
  }
  // In the child no other thread exists, so nobody waits.
  void unlock_after_fork_in_child() {
    held_for_fork_ = forking_ = false;
    note_released();
    mutex_.reset();
  }

 private:
  // Only the forking thread reads held_for_fork_, which it wrote itself.
  bool passes() const { return forking_ && held_for_fork_; }

  void lock_contended();
  void check_rank() const;
  void note_taken() {
    if constexpr (config::kDebugChecks) held_ranks_ |= 1U << rank_;
  }
  void note_released() {
    if constexpr (config::kDebugChecks) held_ranks_ &= ~(1U << rank_);
  }

  static thread_local constinit std::uint32_t held_ranks_;
  static thread_local constinit bool forking_;

  BasicMutex<std::atomic, MutexSystem> mutex_;
  bool held_for_fork_ = false;
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
