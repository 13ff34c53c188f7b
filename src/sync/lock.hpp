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
  static constexpr std::uint32_t kLookAgainAfter = 10;  // ms
  static void pause() { arch::pause(); }
  // The wake-up may be late. A signal handler may run in the thread that is about to send it, or in
  // another waiter that has received it and is about to pass it on. If the handler forks, it waits
  // for other locks, which this thread may hold. So this thread looks again after a while.
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    os::wait_for(word, expected, kLookAgainAfter);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) { os::wake_one(word); }

  // Numbers in the order in which threads first take a lock. A number comes again after 2^31
  // threads.
  static std::uint32_t self() { return self_ != 0 ? self_ : new_self(); }

 private:
  static std::uint32_t new_self();
  static thread_local constinit std::uint32_t self_;
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
    if (held_in_fork_ != 0 && enters_again()) return;
    if constexpr (config::kDebugChecks) check_rank();
    if (!try_lock()) lock_contended();
  }

  void unlock() {
    if (held_in_fork_ != 0 && remains_held()) return;
    note_released();
    mutex_.unlock();
  }

  // Takes the lock for the duration of a fork. Until the release, lock() and unlock() have no
  // effect in this thread, because other fork handlers run in it meanwhile and may use what the
  // lock protects. The rank is not checked: the order in which libraries registered their handlers
  // decides which take their locks first.
  //
  // If the thread holds the lock already, because a signal handler forks that interrupted it, the
  // fork goes on, and the lock has no effect in this thread until the handler returns: in the
  // parent until the end of the fork, in the child until the interrupted code releases the lock.
  void lock_for_fork() {
    if (is_held_before_fork()) return;
    lock_another_for_fork();
    note_taken();
  }
  // Like lock_for_fork(), for one of several locks of a rank: the thread may already have taken
  // locks of this rank or a higher one for the fork. The rank is not noted.
  void lock_another_for_fork() {
    if (is_held_before_fork()) return;
    if (!mutex_.try_lock()) mutex_.lock_contended();
    hold_for_fork(Fork::kTaken);
  }
  // For a thread that held a lock of a higher rank when it began to fork: to wait for this one
  // might never end. Returns false if another thread keeps it for more than a moment.
  bool try_lock_for_fork();
  // The first step of a fork: whether the calling thread holds the lock, which it then does for the
  // fork, too.
  bool is_held_before_fork() {
    if (!mutex_.is_held_by_self()) return false;
    // kInherited: the child of such a fork forks again.
    if (fork_ == Fork::kNone) {
      hold_for_fork(Fork::kInterrupted);
      note_released();
    }
    return true;
  }
  void unlock_after_fork_in_parent() {
    if (fork_ == Fork::kInherited) return;
    const bool interrupted = fork_ == Fork::kInterrupted;
    end_fork();
    interrupted ? note_taken() : unlock();
  }
  // In the child no other thread exists, so no thread waits for the lock.
  void unlock_after_fork_in_child() {
    if (fork_ == Fork::kInterrupted) fork_ = Fork::kInherited;
    if (fork_ == Fork::kInherited) return;
    end_fork();
    note_released();
    mutex_.reset();
  }
  // In the child of a fork whose try_lock_for_fork() has failed: another thread of the parent held
  // the lock, perhaps for a fork of its own.
  void reset_in_child() {
    fork_ = Fork::kNone;
    depth_ = 0;
    mutex_.reset();
  }

  // Whether the calling thread holds a lock. Only debug builds know; others return false.
  static bool holds_any() { return config::kDebugChecks && held_ranks_ != 0; }

 private:
  // Why the holder has the lock, as far as forks are concerned.
  enum class Fork : std::uint8_t {
    kNone,
    kTaken,        // for a fork
    kInterrupted,  // a signal handler that interrupted the holder forks
    kInherited     // this is the child of such a fork, and the handler has not returned
  };

  void hold_for_fork(Fork how) {
    fork_ = how;
    depth_ = 0;
    ++held_in_fork_;
  }
  void end_fork() {
    fork_ = Fork::kNone;
    --held_in_fork_;
  }

  // For a thread that has locks for a fork: the parts of lock() and unlock() for a lock that the
  // thread itself holds. Only the holder reads and writes fork_ and depth_.
  bool enters_again() {
    if (!mutex_.is_held_by_self()) return false;
    if (fork_ == Fork::kNone) return false;
    ++depth_;
    return true;
  }
  bool remains_held() {
    if (fork_ == Fork::kNone) return false;
    if (depth_ != 0) {
      --depth_;
      return true;
    }
    // The interrupted code releases the lock.
    end_fork();
    return false;
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
  Fork fork_ = Fork::kNone;
  std::uint8_t depth_ = 0;  // how many times the forking thread has taken the lock again
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
