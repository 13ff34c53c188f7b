// SPDX-License-Identifier: Apache-2.0
// A fair reader-writer lock: waiting threads enter in the order of their arrival. C++11 and later.
// Follows the oneTBB specification 1.4 (queuing_rw_mutex).
#ifndef CORBEL_QUEUING_RW_MUTEX_HPP
#define CORBEL_QUEUING_RW_MUTEX_HPP

#include <atomic>
#include <cstddef>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/held_locks.hpp>
#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// Fair: threads enter in the order of their arrival; a reader enters together with the readers that
// directly follow it in the queue. Each waiting thread spins on a word of its own scoped_lock and
// yields its processor between checks, but never sleeps. Any thread may use the mutex. A thread
// that acquires a mutex it holds, in either mode, may deadlock.
//
// The policy, and that each thread waits on a word of its own, are those of the fair reader-writer
// lock of J. Mellor-Crummey and M. Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
// Multiprocessors" (1991). Unlike theirs, the queue and the counts are protected by a spin lock,
// guard_, held for a few instructions per step: each step is atomic. Between two steps these hold:
//   - has_writer_ and readers_ > 0 exclude each other;
//   - the first thread of the queue cannot enter: has_writer_, or readers_ > 0 and it is a writer,
//     or upgrader_ is set;
//   - upgrader_ is one of at least two readers, and waits for the others to leave.
// Each step in which a thread leaves ends in let_in(), which restores the last two.
//
// Upgrading: a reader that is alone becomes the writer at once. A reader that is not becomes the
// upgrader, which precedes the whole queue since it stays inside. If a second reader upgrades, it
// must leave for the first to proceed: it goes to the end of the queue, and upgrade_to_writer
// returns false. Downgrading lets no writer in: the writer becomes a reader within one step.
class queuing_rw_mutex {
  // The part of a scoped_lock that the mutex uses, while it is inside or in the queue.
  struct waiter : detail::rw_holder {
    waiter* next = nullptr;  // in the queue; protected by guard_
    std::atomic<bool> granted{false};

    void wait() {
      // (1) acquire: sees what the threads that left before did, which (2) published
      detail::spin_until([this] { return granted.load(std::memory_order_acquire); });
    }
  };

 public:
  // Only one thread may use a scoped_lock. try_acquire acquires the mutex if that is possible at
  // once and no thread waits.
  using scoped_lock = detail::rw_scoped_lock<queuing_rw_mutex, waiter>;

  static constexpr bool is_rw_mutex = true;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = true;

  // An unlocked mutex.
  constexpr queuing_rw_mutex() noexcept {}
  queuing_rw_mutex(const queuing_rw_mutex&) = delete;
  queuing_rw_mutex& operator=(const queuing_rw_mutex&) = delete;

 private:
  friend class detail::rw_scoped_lock<queuing_rw_mutex, waiter>;

  // One atomic step. Each step sees what the steps before it did.
  class step {
   public:
    explicit step(queuing_rw_mutex& mutex) : guard_(mutex.guard_) { guard_.lock(); }
    ~step() { guard_.unlock(); }
    step(const step&) = delete;
    step& operator=(const step&) = delete;

   private:
    detail::spinning_mutex& guard_;
  };

  // ---- the operations of a scoped_lock

  bool try_enter(bool write) {
    {
      step one(*this);
      if (first_ != nullptr || !admits(write)) return false;
      count_in(write);
    }
    detail::note_lock_held(+1);
    return true;
  }

  void enter(waiter& w) {
    enter_or_queue(w);
    detail::note_lock_held(+1);
  }

  void leave(bool writer) {
    detail::note_lock_held(-1);
    step one(*this);
    count_out(writer);
    let_in();
  }

  bool upgrade(waiter& w) {
    const bool stays = begin_upgrade(w);
    w.wait();
    return stays;
  }

  void downgrade() {
    step one(*this);
    count_out(true);
    count_in(false);
    let_in();
  }

  void enter_or_queue(waiter& w) {
    {
      step one(*this);
      if (first_ == nullptr && admits(w.is_writer)) return count_in(w.is_writer);
      queue(w);
    }
    w.wait();
  }

  // Makes a reader wait to become the writer. Returns whether it stays inside; else it has left and
  // is queued as a writer.
  bool begin_upgrade(waiter& w) {
    step one(*this);
    const bool stays = upgrader_ == nullptr;
    if (stays) {
      w.granted.store(false, std::memory_order_relaxed);  // relaxed: under the guard
      upgrader_ = &w;
    } else {
      count_out(false);
      queue(w);
    }
    let_in();
    return stays;
  }

  // ---- within a step

  bool admits(bool write) const {
    return !has_writer_ && upgrader_ == nullptr && (!write || readers_ == 0);
  }

  void count_in(bool writer) {
    if (writer) {
      has_writer_ = true;
    } else {
      ++readers_;
    }
  }

  void count_out(bool writer) {
    if (writer) {
      has_writer_ = false;
    } else {
      --readers_;
    }
  }

  void queue(waiter& w) {
    w.next = nullptr;
    w.granted.store(false, std::memory_order_relaxed);  // relaxed: under the guard
    (first_ == nullptr ? first_ : last_->next) = &w;
    last_ = &w;
  }

  void let_in() {
    if (upgrader_ != nullptr) {
      if (readers_ > 1) return;
      waiter& w = *upgrader_;
      upgrader_ = nullptr;
      count_out(false);
      count_in(true);
      grant(w);
      return;
    }
    while (first_ != nullptr && admits(first_->is_writer)) {
      waiter& w = *first_;
      first_ = w.next;
      count_in(w.is_writer);
      grant(w);
    }
  }

  // Afterwards the scoped_lock may be destroyed.
  static void grant(waiter& w) {
    // (2) release: publishes this step and those before it, and with them the critical sections
    // that have ended, to (1)
    w.granted.store(true, std::memory_order_release);
  }

  detail::spinning_mutex guard_;
  bool has_writer_ = false;
  std::size_t readers_ = 0;
  waiter* upgrader_ = nullptr;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;  // valid if first_ is not null
};

}  // namespace corbel

#endif  // CORBEL_QUEUING_RW_MUTEX_HPP
