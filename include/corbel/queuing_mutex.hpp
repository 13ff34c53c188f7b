// SPDX-License-Identifier: Apache-2.0
// The lock that serves its waiters in the order in which they came. C++11 upwards; queuing_mutex of
// the oneTBB specification.
#ifndef CORBEL_QUEUING_MUTEX_HPP
#define CORBEL_QUEUING_MUTEX_HPP

#include <atomic>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/held_locks.hpp>

namespace corbel {

// Fair. Each waiter spins on a word of its own scoped_lock, and lets others run after a while, but
// never sleeps; so with more threads than processors it may wait for one that does not run. May be
// used from any thread; a thread that acquires what it holds waits for ever.
//
// The algorithm is the list-based queuing lock of J. Mellor-Crummey and M. Scott, "Algorithms for
// Scalable Synchronization on Shared-Memory Multiprocessors" (1991).
class queuing_mutex {
 public:
  // Holds the mutex, and gives it back at its end. One scoped_lock belongs to one thread.
  class scoped_lock {
   public:
    // Holds nothing.
    scoped_lock() noexcept = default;
    // Waits for `mutex` and takes it.
    explicit scoped_lock(queuing_mutex& mutex) { acquire(mutex); }
    ~scoped_lock() {
      if (mutex_ != nullptr) release();
    }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

    // Waits for `mutex` and takes it. No mutex may be held.
    void acquire(queuing_mutex& mutex) {
      CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
      mutex_ = &mutex;
      // relaxed, both: (1) or (4) publishes them
      next_.store(nullptr, std::memory_order_relaxed);
      granted_.store(false, std::memory_order_relaxed);
      // (1) acquire: with (2), what the last holder did; release: with the acquire of the one that
      // comes next, which writes to next_
      scoped_lock* const before = mutex.last_.exchange(this, std::memory_order_acq_rel);
      if (before != nullptr) {
        before->next_.store(this, std::memory_order_release);  // (4) with (5)
        // (6) acquire: with (3), what the last holder did
        detail::spin_until([this] { return granted_.load(std::memory_order_acquire); });
      }
      detail::note_lock_held(+1);
    }

    // Takes `mutex` if nobody holds it or waits for it; whether so. No mutex may be held.
    bool try_acquire(queuing_mutex& mutex) {
      CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
      next_.store(nullptr, std::memory_order_relaxed);  // relaxed: as in acquire()
      scoped_lock* nobody = nullptr;
      // as (1); relaxed on failure: nothing is read
      if (!mutex.last_.compare_exchange_strong(nobody, this, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        return false;
      }
      mutex_ = &mutex;
      detail::note_lock_held(+1);
      return true;
    }

    // Gives the mutex to the next in the queue. One must be held.
    void release() {
      CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
      detail::note_lock_held(-1);
      if (!leave_empty()) {
        // Who comes next has put itself behind this one by (1), and is about to say so by (4).
        detail::spin_until([this] {
          return next_.load(std::memory_order_acquire) != nullptr;  // as (5)
        });
        // relaxed: acquired in the loop. (3) release: publishes the section to (6)
        next_.load(std::memory_order_relaxed)->granted_.store(true, std::memory_order_release);
      }
      mutex_ = nullptr;
    }

   private:
    // Whether there was nobody behind this one, and the mutex is free.
    bool leave_empty() {
      // (5) acquire: with (4), the other's granted_ is false before it is set
      if (next_.load(std::memory_order_acquire) != nullptr) return false;
      scoped_lock* last = this;
      // (2) release: publishes the section to (1); relaxed on failure: nothing is read
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

  // Free.
  constexpr queuing_mutex() noexcept {}
  queuing_mutex(const queuing_mutex&) = delete;
  queuing_mutex& operator=(const queuing_mutex&) = delete;

 private:
  std::atomic<scoped_lock*> last_{nullptr};  // of the queue, whose first holds the mutex
};

}  // namespace corbel

#endif  // CORBEL_QUEUING_MUTEX_HPP
