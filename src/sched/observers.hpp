// SPDX-License-Identifier: Apache-2.0
// Who observes an arena, or all of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "sched/lock_ranks.hpp"
#include "sched/thread.hpp"
#include "sync/lock.hpp"

namespace corbel {

class task_scheduler_observer;

namespace detail {

// One observer from observe(true) to observe(false). The threads that are in one of its functions
// are counted, and who ends the observation waits until there are none.
struct observation {
  task_scheduler_observer* observer = nullptr;
  sched::Arena* arena = nullptr;  // nullptr: all
  std::uint64_t number = 0;
  std::atomic<std::uint32_t> calls{0};
  observation* next = nullptr;
};

}  // namespace detail

namespace sched {

// Observations have ascending numbers. A thread remembers the last one that it has looked at: it
// has entered with all up to that one, and leaves with those of them that are still there.
class Observers {
 public:
  constexpr Observers() = default;

  // The thread enters with all that are newer than `seen`; and leaves with all that are not.
  void enter(const Thread& t, std::uint64_t& seen);
  void leave(const Thread& t, std::uint64_t seen);

  // relaxed: a guess; who missed one sees it the next time
  bool has_newer(std::uint64_t seen) const {
    return newest_.load(std::memory_order_relaxed) > seen;
  }

  void add(detail::observation& o);
  // No other thread calls the observer behind it.
  void remove(detail::observation& o);

  // Around a fork.
  sync::Lock& lock() { return lock_; }

  // In the child of a fork, where nobody else is in a call.
  void forget_calls();

 private:
  detail::observation* take_after(std::uint64_t number);
  template <typename Call>
  static void call(detail::observation& o, Call call);

  sync::Lock lock_{kObservers};
  detail::observation* first_ = nullptr;
  std::atomic<std::uint64_t> newest_{0};
};

// Of all arenas.
extern Observers observers;

}  // namespace sched
}  // namespace corbel
