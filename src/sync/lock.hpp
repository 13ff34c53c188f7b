// SPDX-License-Identifier: Apache-2.0
// The libraries' only lock: the mutex of mutex.hpp and a rank. Each thread takes locks in ascending
// order of rank, so that no deadlock is possible. Debug builds check the order.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/arch.hpp"
#include "base/config.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"
#include "sync/mutex.hpp"

namespace corbel::sync {

// These three are the functions' below only. The thread's number as the holder of locks; 0: none
// yet.
CORBEL_EXTERN_THREAD_VARIABLE(std::uint32_t, number_of_thread);
// The ranks of the locks that it holds, a bit each. Only debug builds know.
CORBEL_EXTERN_THREAD_VARIABLE(std::uint32_t, held_ranks);
// The forks whose handlers it is in; with Lock::kInherits, it may hold a lock as kInherited.
CORBEL_EXTERN_THREAD_VARIABLE(unsigned, forks_of_thread);

// Connects the mutex to the processor and the kernel.
struct MutexSystem {
  static constexpr int kSpins = 64;
  static constexpr std::uint32_t kLookAgainAfter = 10;  // ms
  static void pause() { arch::pause(); }
  // The wake-up may be late. A signal handler may run in the thread that is about to send it, or in
  // another waiter that has received it and is about to pass it on. If the handler forks, it waits
  // for other locks, which this thread may hold. So this thread looks again after a while.
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    // The holder has vanished. relaxed: no other thread is left
    if (os::other_threads_are_gone()) return word.store(0, std::memory_order_relaxed);
    os::wait_for(word, expected, kLookAgainAfter);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) { os::wake_one(word); }

  // Numbers in the order in which threads first take a lock. A number comes again after 2^31
  // threads.
  static std::uint32_t self() { return number_of_thread != 0 ? number_of_thread : new_self(); }

 private:
  static std::uint32_t new_self();
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

  // For a signal handler, which must not wait for what the interrupted code would have to do.
  // Returns false if the calling thread holds the lock, or another one keeps it for more than a
  // moment.
  bool try_lock_in_handler();

  void lock() {
    if (forks_of_thread != 0 && enters_again()) return;
    if constexpr (config::kDebugChecks) check_rank();
    if (!try_lock()) lock_contended();
  }

  void unlock() {
    if (forks_of_thread != 0 && remains_held()) return;
    note_released();
    mutex_.unlock();
  }

  // The handlers of a fork call begin_fork() before all functions below, and end_fork() after them.
  // A signal may interrupt the handlers and fork, too: such a fork ends before the interrupted code
  // continues, and leaves each lock as it was. So each lock knows for which of these forks, counted
  // from the outermost one, it is held.
  static void begin_fork() { ++forks_of_thread; }
  // forks() is 0 where an older C library calls the handlers after a fork that has begun before
  // they were registered.
  static void end_fork() {
    if (forks() != 0) --forks_of_thread;
  }
  // The number of forks whose handlers the calling thread is in.
  static unsigned forks() { return forks_of_thread & ~kInherits; }

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
    hold_for_fork(Held::kTaken);
  }
  // For a thread that held a lock of a higher rank when it began to fork: to wait for this one
  // might never end. Returns false if another thread keeps it for more than a moment.
  bool try_lock_for_fork();
  // The first step of a fork: whether the calling thread holds the lock, which it then does for the
  // fork, too.
  bool is_held_before_fork() {
    if (!mutex_.is_held_by_self()) return false;
    // Otherwise it is held for a fork whose handlers this one has interrupted, or in the child of
    // one (kInherited), which forks again.
    if (held() == Held::kNone) {
      hold_for_fork(Held::kInterrupted);
      note_released();
    }
    return true;
  }
  void unlock_after_fork_in_parent() {
    const bool interrupted = fork_ == for_this_fork(Held::kInterrupted);
    if (!interrupted && fork_ != for_this_fork(Held::kTaken)) return;
    fork_ = 0;
    interrupted ? note_taken() : unlock();
  }
  // In the child no other thread exists, so no thread waits for the lock.
  void unlock_after_fork_in_child() {
    if (fork_ == for_this_fork(Held::kInterrupted)) {
      fork_ = std::uint16_t(Held::kInherited);
      forks_of_thread |= kInherits;
    }
    if (fork_ != for_this_fork(Held::kTaken)) return;
    fork_ = 0;
    note_released();
    mutex_.reset();
  }
  // In the child of a fork whose try_lock_for_fork() has failed: another thread of the parent held
  // the lock, perhaps for a fork of its own.
  void reset_in_child() {
    fork_ = 0;
    depth_ = 0;
    mutex_.reset();
  }

  // Whether the calling thread holds a lock. Only debug builds know; others return false.
  static bool holds_any() { return config::kDebugChecks && held_ranks != 0; }

 private:
  // Why the holder has the lock, as far as forks are concerned.
  enum class Held : std::uint8_t {
    kNone,
    kTaken,        // for a fork
    kInterrupted,  // a signal handler that interrupted the holder forks
    kInherited     // this is the child of such a fork, and the handler has not returned
  };

  Held held() const { return Held(fork_ & 0xff); }
  static std::uint16_t for_this_fork(Held how) {
    return std::uint16_t(unsigned(how) | forks() << 8);
  }
  void hold_for_fork(Held how) { fork_ = for_this_fork(how); }

  // For a thread that is in the handlers of a fork, or inherits a lock: the parts of lock() and
  // unlock() for a lock that the thread itself holds. Only the holder reads and writes fork_ and
  // depth_.
  bool enters_again() {
    if (!mutex_.is_held_by_self()) return false;
    if (held() == Held::kNone) return false;
    ++depth_;
    return true;
  }
  bool remains_held() {
    if (held() == Held::kNone) return false;
    if (depth_ != 0) {
      --depth_;
      return true;
    }
    fork_ = 0;  // the interrupted code releases the lock
    return false;
  }

  void lock_contended();
  void check_rank() const;
  void note_taken() {
    if constexpr (config::kDebugChecks) held_ranks |= 1U << rank_;
  }
  void note_released() {
    if constexpr (config::kDebugChecks) held_ranks &= ~(1U << rank_);
  }

  static constexpr unsigned kInherits = 1U << 31;

  BasicMutex<std::atomic, MutexSystem> mutex_;
  // How it is held, and in the upper byte forks() of the fork for which it is. Written in one
  // piece: a signal sees either state.
  std::uint16_t fork_ = 0;
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
