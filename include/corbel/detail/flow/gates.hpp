// SPDX-License-Identifier: Apache-2.0
// How a node keeps to its concurrency limit. Not for programs to include.
//
// A message that enters a gate has one of its slots until it leaves. Whether a slot is free, and
// what is to be done when one becomes free, is decided by one read-modify-write of one word.
#ifndef CORBEL_DETAIL_FLOW_GATES_HPP
#define CORBEL_DETAIL_FLOW_GATES_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/flow/pointer_list.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// One slot; messages that find it taken wait, first in, first out. Task has a member `next`.
//
// The word is kIdle, kBusy, or the newest waiting task, which leads to the older ones. The holder
// of the slot takes the whole list at once, and keeps it in order; so only the holder removes
// tasks, and a task is never in the list again while another thread looks at it.
template <typename Task, template <typename> class Atomic = plain_atomic>
class serial_queue {
 public:
  // Takes the slot if it is free.
  bool try_enter() {
    std::uintptr_t idle = kIdle;
    // (1) acquire: sees what the last holder did before (3). relaxed on failure: nothing is read
    return word_.compare_exchange_strong(idle, kBusy, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // Takes the slot, or makes the task wait; returns whether it has the slot.
  bool enter(Task& task) {
    std::uintptr_t word = word_.load(std::memory_order_relaxed);  // relaxed: compared again
    for (;;) {
      if (CORBEL_LIKELY(word == kIdle)) {
        // (1) acquire, relaxed on failure: as above
        if (word_.compare_exchange_weak(word, kBusy, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return true;
        }
      } else {
        task.next = word == kBusy ? nullptr : reinterpret_cast<Task*>(word);
        // (2) release: publishes the task to (4). relaxed on failure: nothing is read
        if (word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(&task),
                                        std::memory_order_release, std::memory_order_relaxed)) {
          return false;
        }
      }
    }
  }

  // Passes the slot on to the task that has waited longest, and returns it; frees the slot and
  // returns nullptr if none waits.
  Task* leave() {
    if (ready_ == nullptr) {
      std::uintptr_t busy = kBusy;
      // (3) release: publishes what the holders did to (1). relaxed on failure: read again
      if (CORBEL_LIKELY(word_.compare_exchange_strong(busy, kIdle, std::memory_order_release,
                                                      std::memory_order_relaxed))) {
        return nullptr;
      }
      // (4) acquire: sees the tasks that (2) published: each (2) reads the value of the one before
      Task* newest = reinterpret_cast<Task*>(word_.exchange(kBusy, std::memory_order_acquire));
      do {
        Task* const older = newest->next;
        newest->next = ready_;
        ready_ = newest;
        newest = older;
      } while (newest != nullptr);
    }
    Task* const oldest = ready_;
    ready_ = oldest->next;
    return oldest;
  }

 private:
  enum : std::uintptr_t { kIdle = 0, kBusy = 1 };

  Atomic<std::uintptr_t> word_{kIdle};
  Task* ready_ = nullptr;  // the holder's: the tasks that it has taken, the oldest first
};

// Several slots; messages that find none free wait, first in, first out.
//
// The number counts messages that have a slot and those that wait. A message that finds at least
// `limit` others waits in the list; one that leaves at least `limit` others passes its slot on to
// the first in the list. The two may meet before the task is in the list: then the slot is owed to
// the next task that comes to the list.
template <typename Task, template <typename> class Atomic = plain_atomic,
          typename Lock = spinning_mutex>
class counted_queue {
 public:
  explicit counted_queue(std::uint32_t limit) : limit_(limit) {}

  // As in serial_queue.
  bool try_enter() {
    std::uint32_t number = number_.load(std::memory_order_relaxed);  // relaxed: compared again
    while (number < limit_) {
      // (1) acquire: sees what came before (2). relaxed on failure: nothing is read
      if (number_.compare_exchange_weak(number, number + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  bool enter(Task& task) {
    // (1) acquire: as above
    if (CORBEL_LIKELY(number_.fetch_add(1, std::memory_order_acquire) < limit_)) return true;
    const mutex_guard<Lock> lock(lock_);
    if (owed_ != 0) {
      --owed_;
      return true;
    }
    task.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &task;
    last_ = &task;
    return false;
  }
  Task* leave() {
    // (2) release: publishes what this message did to (1)
    if (CORBEL_LIKELY(number_.fetch_sub(1, std::memory_order_release) <= limit_)) return nullptr;
    const mutex_guard<Lock> lock(lock_);
    Task* const first = first_;
    if (first == nullptr) {
      ++owed_;
      return nullptr;
    }
    first_ = first->next;
    if (first_ == nullptr) last_ = nullptr;
    return first;
  }

 private:
  Atomic<std::uint32_t> number_{0};
  const std::uint32_t limit_;
  std::uint32_t owed_ = 0;
  Lock lock_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

// Several slots; messages that find none free are rejected. The node then has predecessors to pull
// from.
//
// The word has the number of slots that are taken, and whether there may be predecessors. Either a
// predecessor is announced while a slot is free: then the announcement takes the slot for a pull.
// Or all slots are taken: then the next message that leaves finds the announcement, and pulls
// before it gives up its slot.
template <template <typename> class Atomic = plain_atomic>
class pulling_gate {
 public:
  explicit pulling_gate(std::uint32_t limit) : limit_(limit) {}

  // Takes a slot if one is free.
  bool try_enter() {
    std::uint32_t word = word_.load(std::memory_order_relaxed);  // relaxed: compared again
    while (word / kOneSlot < limit_) {
      // (1) acquire: sees what came before (2). relaxed on failure: nothing is read
      if (word_.compare_exchange_weak(word, word + kOneSlot, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Announces a predecessor, which the caller has stored. Takes a slot for a pull if one is free.
  bool announce() {
    std::uint32_t word = word_.load(std::memory_order_relaxed);  // relaxed: compared again
    for (;;) {
      const bool takes = word / kOneSlot < limit_;
      // (3) acq_rel: publishes the predecessor to (4); also (1). relaxed on failure: nothing is
      // read
      if (word_.compare_exchange_weak(word,
                                      (word | kPulls) + (takes ? std::uint32_t{kOneSlot} : 0u),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return takes;
      }
    }
  }

  // Called by the holder of a slot for a pull that is not possible: frees it. The next message that
  // leaves pulls.
  void give_back() {
    // (2) release: as below; relaxed otherwise: reads nothing
    word_.fetch_sub(kOneSlot, std::memory_order_release);
  }

  // Called by the holder of a slot: frees it and returns true; or forgets that there are
  // predecessors and returns false: the caller then pulls from all, and leaves again if none has a
  // message. If it has got one, it announces those that are left.
  bool try_leave() {
    std::uint32_t word = word_.load(std::memory_order_relaxed);  // relaxed: compared again
    for (;;) {
      const bool pulls = (word & kPulls) != 0;
      // (2) release: publishes what the message did to (1). (4) acquire: sees the predecessors that
      // (3) published. relaxed on failure: nothing is read
      if (word_.compare_exchange_weak(word, pulls ? word & ~std::uint32_t{kPulls} : word - kOneSlot,
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return !pulls;
      }
    }
  }

 private:
  enum : std::uint32_t { kPulls = 1, kOneSlot = 2 };

  Atomic<std::uint32_t> word_{0};
  const std::uint32_t limit_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_GATES_HPP
