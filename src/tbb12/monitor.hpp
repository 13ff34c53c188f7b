// SPDX-License-Identifier: Apache-2.0
// Threads that sleep until a condition holds which the program's inlined code evaluates.
#pragma once

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/mutex_guard.hpp>
#include <corbel/detail/wait_on_address.hpp>

#include <atomic>
#include <cstdint>

namespace corbel::tbb12 {

// No wake-up is lost. A thread joins the list (1), then evaluates the condition (2). A thread that
// makes it true (3) looks whether a thread waits (4) and wakes those in the list. (1) and (4) are
// changes of one counter: if (4) does not see (1), then (1) comes after (4), and so (2) sees (3).
class Monitor {
 public:
  // Sleeps until notify matches (key, tag), if is_true() is false after the thread has joined the
  // list. What is_true throws goes to the caller.
  template <typename Condition>
  void wait(const void* key, std::uintptr_t tag, const Condition& is_true) {
    Waiter self{key, tag};
    waiting_.fetch_add(1, std::memory_order_seq_cst);  // (1)
    join(self);
    struct Leave {
      Monitor& monitor;
      Waiter& self;
      ~Leave() {
        monitor.leave(self);
        // relaxed: only counts
        monitor.waiting_.fetch_sub(1, std::memory_order_relaxed);
      }
    } const at_end{*this, self};
    if (is_true()) return;  // (2)
    // (5) acquire: sees what the thread that woke this one did, published by (6)
    while (self.is_woken.load(std::memory_order_acquire) == 0) {
      detail::wait_on_address(self.is_woken, 0);
    }
  }

  // Wakes those waiters with the key for whose tag matches(tag) holds: all of them, or the one that
  // has waited longest.
  template <typename Matches>
  void notify(const void* key, bool all, const Matches& matches) {
    // (4) a change, not a load: see above. It publishes (3) to (1) and (2).
    if (waiting_.fetch_add(0, std::memory_order_seq_cst) == 0) return;
    const detail::mutex_guard<detail::spinning_mutex> guard(guard_);
    for (Waiter* w = first_; w != nullptr;) {
      Waiter* const next = w->next;
      if (w->key == key && matches(w->tag)) {
        unlink(*w);
        w->is_woken.store(1, std::memory_order_release);  // (6) release: publishes to (5)
        detail::wake_one_by_address(w->is_woken);
        if (!all) break;
      }
      w = next;
    }
  }

 private:
  struct Waiter {
    const void* key;
    std::uintptr_t tag;
    Waiter* next = nullptr;
    Waiter* previous = nullptr;
    bool is_linked = false;
    std::atomic<std::uint32_t> is_woken{0};
  };

  void join(Waiter& w) {
    const detail::mutex_guard<detail::spinning_mutex> guard(guard_);
    w.previous = last_;
    (last_ == nullptr ? first_ : last_->next) = &w;
    last_ = &w;
    w.is_linked = true;
  }
  void leave(Waiter& w) {
    const detail::mutex_guard<detail::spinning_mutex> guard(guard_);
    if (w.is_linked) unlink(w);
  }
  void unlink(Waiter& w) {
    (w.previous == nullptr ? first_ : w.previous->next) = w.next;
    (w.next == nullptr ? last_ : w.next->previous) = w.previous;
    w.is_linked = false;
  }

  std::atomic<std::uint32_t> waiting_{0};
  detail::spinning_mutex guard_;  // protects the list
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace corbel::tbb12
