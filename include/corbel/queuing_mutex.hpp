// SPDX-License-Identifier: Apache-2.0
// A fair lock: waiting threads get it in the order of their arrival. C++11 and later. Follows the
// oneTBB specification 1.4 (queuing_mutex).
#ifndef CORBEL_QUEUING_MUTEX_HPP
#define CORBEL_QUEUING_MUTEX_HPP

#include <atomic>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/held_locks.hpp>

namespace corbel {

// Fair. Each waiting thread spins on a word of its own scoped_lock and yields its processor between
// checks, but never sleeps. With more threads than processors it may wait for a thread that is not
// running. Any thread may use the mutex. A thread that acquires a mutex it holds deadlocks.
//
// The algorithm is the list-based queuing lock of J. Mellor-Crummey and M. Scott, "Algorithms for
// Scalable Synchronization on Shared-Memory Multiprocessors" (1991).
class queuing_mutex {
 public:
  // Holds the mutex for the lifetime of the object. Only one thread may use a scoped_lock.
  class scoped_lock {
   public:
    // Holds no mutex.
    scoped_lock() noexcept = default;
    // Waits for `mutex` and acquires it.
    explicit scoped_lock(queuing_mutex& mutex) { acquire(mutex); }
    ~scoped_lock() {
      if (mutex_ != nullptr) release();
    }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

    // Waits for `mutex` and acquires it. The scoped_lock must hold no mutex.
    void acquire(queuing_mutex& mutex) {
      CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
      mutex_ = &mutex;
      // relaxed, both: (1) or (4) publishes them
      next_.store(nullptr, std::memory_order_relaxed);
      granted_.store(false, std::memory_order_relaxed);
      // (1) acquire: sees the last critical section, which (2) published, and the fields of
      // `before`, which its (1) or (7) published. release: publishes the fields of this scoped_lock
      // to the (1) of its successor, which then writes next_.
      scoped_lock* const before = mutex.last_.exchange(this, std::memory_order_acq_rel);
      if (before != nullptr) {
        // (4) release: publishes granted_ == false to (5), (8)
        before->next_.store(this, std::memory_order_release);
        // (6) acquire: sees the last critical section, which (3) published
        detail::spin_until([this] { return granted_.load(std::memory_order_acquire); });
      }
      detail::note_lock_held(+1);
    }

    // Acquires `mutex` if no thread holds it or waits for it; returns whether it did. The
    // scoped_lock must hold no mutex.
    bool try_acquire(queuing_mutex& mutex) {
      CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
      next_.store(nullptr, std::memory_order_relaxed);  // relaxed: (7) publishes it
      scoped_lock* none = nullptr;
      // (7) acquire: sees the last critical section, which (2) published. release: publishes next_
      // to the (1) of the successor. relaxed on failure: nothing is read.
      if (!mutex.last_.compare_exchange_strong(none, this, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        return false;
      }
      mutex_ = &mutex;
      detail::note_lock_held(+1);
      return true;
    }

    // Passes the mutex to the next waiting thread, or frees it. The scoped_lock must hold one.
    void release() {
      CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
      detail::note_lock_held(-1);
      if (!leave_empty()) {
        // The successor has appended itself by (1) and is about to store next_ by (4).
        detail::spin_until([this] {
          // (8) acquire: sees granted_ == false, which (4) published, before (3) sets it
          return next_.load(std::memory_order_acquire) != nullptr;
        });
        // relaxed: acquired by (8) or (5). (3) release: publishes the critical section to (6)
        next_.load(std::memory_order_relaxed)->granted_.store(true, std::memory_order_release);
      }
      mutex_ = nullptr;
    }

   private:
    // Frees the mutex if there is no successor. Returns whether it did.
    bool leave_empty() {
      // (5) acquire: sees granted_ == false, which (4) published, before (3) sets it
      if (next_.load(std::memory_order_acquire) != nullptr) return false;
      scoped_lock* last = this;
      // (2) release: publishes the critical section to (1), (7). relaxed on failure: nothing is
      // read
      return mutex_->last_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                                   std::memory_order_relaxed);
    }

    queuing_mutex* mutex_ = nullptr;
    std::atomic<scoped_lock*> next_{nullptr};
    std::atomic<bool> granted_{false};
  };

  static constexpr bool is_rw_mutex = false;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = true;

  // An unlocked mutex.
  constexpr queuing_mutex() noexcept {}
  queuing_mutex(const queuing_mutex&) = delete;
  queuing_mutex& operator=(const queuing_mutex&) = delete;

 private:
  std::atomic<scoped_lock*> last_{nullptr};  // end of the queue; its first entry holds the mutex
};

}  // namespace corbel

#endif  // CORBEL_QUEUING_MUTEX_HPP
