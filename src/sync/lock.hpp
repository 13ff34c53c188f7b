// SPDX-License-Identifier: Apache-2.0
// The libraries' only lock: the mutex of mutex.hpp and a rank. A thread takes locks in ascending
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
  // it and may use what the locks protect: until the release it passes through. The ranks are not
  // looked at: which library's handlers come first is decided by when they were registered.
  void lock_for_fork() {
    lock_another_for_fork();
    note_taken();
  }
  // The same for one of many, of a rank of which or above which the thread may have taken others
  // so.
  void lock_another_for_fork() {
    if (!mutex_.try_lock()) mutex_.lock_contended();
    held_for_fork_ = true;
    ++held_in_fork_;
  }
  void unlock_after_fork_in_parent() {
    end_fork();
    unlock();
  }
  // In the child no other thread exists, so nobody waits.
  void unlock_after_fork_in_child() {
    end_fork();
    note_released();
    mutex_.reset();
  }

  // Whether the calling thread holds a lock. Only debug builds know, others say no.
  static bool holds_any() { return config::kDebugChecks && held_ranks_ != 0; }

 private:
  // Only the forking thread reads held_for_fork_, which it wrote itself.
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
  static thread_local constinit unsigned held_in_fork_;  // by this thread

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
