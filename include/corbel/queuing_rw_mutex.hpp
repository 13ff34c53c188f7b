// SPDX-License-Identifier: Apache-2.0
// The reader-writer lock that serves its waiters in the order in which they came. C++11 upwards;
// queuing_rw_mutex of the oneTBB specification.
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

// Fair: a writer enters before whoever came after it, and so does a reader, but together with the
// readers directly behind it. Each waiter spins on a word of its own scoped_lock, and lets others
// run after a while, but never sleeps. May be used from any thread; a thread that acquires what it
// holds, in either way, may wait for ever.
//
// The policy, and the waiting in one's own node, are those of the fair reader-writer lock of
// J. Mellor-Crummey and M. Scott, "Scalable Reader-Writer Synchronization for Shared-Memory
// Multiprocessors" (1991). Other than there the queue and the counts are kept under a spin lock,
// held for some instructions at each step; so each step can be read as one that nobody disturbs.
// Between two steps these hold:
//   - has_writer_ and readers_ > 0 exclude each other;
//   - the first of the queue could not enter: has_writer_, or readers_ > 0 and it is a writer, or
//     upgrader_ is set;
//   - upgrader_ is one of at least two readers, and waits for the others to leave.
// Each step that lets somebody out ends in let_in(), which makes the last two true again.
//
// Upgrading: a reader that is alone is made the writer at once; one that is not becomes the
// upgrader, who comes before the whole queue, since it keeps its place inside. Of two readers that
// upgrade, the second must leave for the first to get on: it becomes the last of the queue and is
// told so. Downgrading lets no writer in: the one inside becomes a reader within one step.
class queuing_rw_mutex {
  // A scoped_lock inside, or in the queue.
  struct waiter : detail::rw_holder {
    waiter* next = nullptr;  // in the queue; under the guard
    std::atomic<bool> granted{false};

    void wait() {
      // (1) acquire: with (2), what those did that had to leave first
      detail::spin_until([this] { return granted.load(std::memory_order_acquire); });
    }
  };

 public:
  // One scoped_lock belongs to one thread. try_acquire takes the mutex if that is possible at once
  // and nobody waits.
  using scoped_lock = detail::rw_scoped_lock<queuing_rw_mutex, waiter>;

  static constexpr bool is_rw_mutex = true;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = true;

  // Free.
  constexpr queuing_rw_mutex() noexcept {}
  queuing_rw_mutex(const queuing_rw_mutex&) = delete;
  queuing_rw_mutex& operator=(const queuing_rw_mutex&) = delete;

 private:
  friend class detail::rw_scoped_lock<queuing_rw_mutex, waiter>;

  // One step. What was done in one is seen in the next.
  class step {
   public:
    explicit step(queuing_rw_mutex& mutex) : guard_(mutex.guard_) { guard_.lock(); }
    ~step() { guard_.unlock(); }
    step(const step&) = delete;
    step& operator=(const step&) = delete;

   private:
    detail::spinning_mutex& guard_;
  };

  // ---- what a scoped_lock does

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

  // Whether the waiter, now a writer, may stay inside until it is granted that.
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

  // The scoped_lock is its owner's again, and may be gone.
  static void grant(waiter& w) {
    // (2) release: publishes the steps up to this one, and with them the sections, to (1)
    w.granted.store(true, std::memory_order_release);
  }

  detail::spinning_mutex guard_;
  bool has_writer_ = false;
  std::size_t readers_ = 0;
  waiter* upgrader_ = nullptr;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;  // if there is a first
};

}  // namespace corbel

#endif  // CORBEL_QUEUING_RW_MUTEX_HPP
