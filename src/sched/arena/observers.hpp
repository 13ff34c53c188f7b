// SPDX-License-Identifier: Apache-2.0
// The observers of an arena, or of all arenas.
#pragma once

#include <atomic>
#include <cstdint>

#include "sched/core/lock_ranks.hpp"
#include "sched/core/thread.hpp"
#include "sync/lock.hpp"

namespace corbel {

class task_scheduler_observer;

namespace detail {

// One observer from observe(true) to observe(false). Counts the threads that are in one of the
// observer's functions; observe(false) waits until there are none.
struct observation {
  task_scheduler_observer* observer = nullptr;
  sched::Arena* arena = nullptr;  // nullptr: all
  std::uint64_t number = 0;
  std::atomic<std::uint32_t> calls{0};
  observation* next = nullptr;
};

}  // namespace detail

namespace sched {

// Observations have ascending numbers. A thread remembers the last one that it has seen: it has
// called on_scheduler_entry of all observers up to that one, and calls on_scheduler_exit of those
// of them that are still there.
class Observers {
 public:
  constexpr Observers() = default;

  // enter calls the entry functions of the observations newer than `seen` and updates `seen`; leave
  // calls the exit functions of those up to `seen`.
  void enter(const Thread& t, std::uint64_t& seen);
  void leave(const Thread& t, std::uint64_t seen);

  // relaxed: a hint; a thread that misses an observation sees it the next time
  bool has_newer(std::uint64_t seen) const {
    return newest_.load(std::memory_order_relaxed) > seen;
  }

  void add(detail::observation& o);
  // No other thread calls the observer after this.
  void remove(detail::observation& o);

  // For the fork handlers.
  sync::Lock& lock() { return lock_; }

  // In the child of a fork, where no other thread is in a call.
  void forget_calls();

 private:
  detail::observation* take_after(std::uint64_t number);
  template <typename Call>
  static void call(detail::observation& o, Call call);

  sync::Lock lock_{kObservers};
  detail::observation* first_ = nullptr;
  std::atomic<std::uint64_t> newest_{0};
};

// The observers of all arenas.
extern Observers observers;

}  // namespace sched
}  // namespace corbel
