// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/slot.hpp"

#include <new>

#include "sched/core/signal_mode.hpp"

namespace corbel::sched {

// Where every push signals, there is no process barrier, and the owner of a deque must fence for
// itself; or tasks are traced, and every join must take the slow path. A slow deque does both.
IsolationDeque::IsolationDeque() : tasks(always_signals()) {}

Slot::Slot() : tasks(always_signals()) {}

IsolationDeque* Slot::free_isolation_deque() {
  IsolationDeque* d = isolation_deques;
  while (d != nullptr && (d->in_use || !d->tasks.seems_empty())) d = d->next;
  if (d != nullptr) return d;
  d = new (std::nothrow) IsolationDeque;
  if (d == nullptr) return nullptr;
  d->next = isolation_deques;
  isolation_deques = d;
  // relaxed: a hint, exact after a process barrier
  isolation_deque_count.fetch_add(1, std::memory_order_relaxed);
  return d;
}

Slot::~Slot() {
  while (isolation_deques != nullptr) {
    IsolationDeque* const next = isolation_deques->next;
    delete isolation_deques;
    isolation_deques = next;
  }
}

}  // namespace corbel::sched
