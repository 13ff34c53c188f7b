// SPDX-License-Identifier: Apache-2.0
// The libraries' only lock: the mutex of mutex.hpp and a rank. Each thread takes locks in ascending
// order of rank, so that no deadlock is possible. Debug builds check the order.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/arch.hpp"
#include "base/config.hpp"
#include "os/os.hpp"
#include "sync/mutex.hpp"

namespace corbel::sync {

// Connects the mutex to the processor and the kernel.
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
  // A thread that holds a lock may take only locks of a higher rank.
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

  // Takes the lock for the duration of a fork. Until the release, lock() and unlock() have no
  // effect in this thread, because other fork handlers run in it meanwhile and may use what the
  // lock protects. The rank is not checked: the order in which libraries registered their handlers
  // decides which take their locks first.
  void lock_for_fork() {
    lock_another_for_fork();
    note_taken();
  }
  // Like lock_for_fork(), for one of several locks of a rank: the thread may already have taken
  // locks of this rank or a higher one for the fork. The rank is not noted.
  void lock_another_for_fork() {
    if (!mutex_.try_lock()) mutex_.lock_contended();
    held_for_fork_ = true;
    ++held_in_fork_;
  }
  void unlock_after_fork_in_parent() {
    end_fork();
    unlock();
  }
  // In the child no other thread exists, so no thread waits for the lock.
  void unlock_after_fork_in_child() {
    end_fork();
    note_released();
    mutex_.reset();
  }

  // Whether the calling thread holds a lock. Only debug builds know; others return false.
  static bool holds_any() { return config::kDebugChecks && held_ranks_ != 0; }

 private:
  // A thread reads held_for_fork_ only while it forks, and then it has written the flag itself, if
  // its fork handlers take all locks before other handlers run.
  bool passes() const { return held_in_fork_ != 0 && held_for_fork_; }

  void end_fork() {
    held_for_fork_ = false;
    --held_in_fork_;
  }

  void lock_contended();
  void check_rank() const;
  void note_taken() {
    if constexpr (config::kDebugChecks) held_ranks_ |= 1U << rank_;
  }
  void note_released() {
    if constexpr (config::kDebugChecks) held_ranks_ &= ~(1U << rank_);
  }

  static thread_local constinit std::uint32_t held_ranks_;
  static thread_local constinit unsigned held_in_fork_;  // locks this thread holds for a fork

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
