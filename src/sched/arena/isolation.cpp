// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/isolation.hpp"

#include <new>

#include <corbel/detail/held_locks.hpp>

namespace corbel::sched {

namespace {

IsolationDeque* take_isolation_deque(Slot& slot, IsolationScope isolation) {
  sync::LockGuard guard(slot.isolation_lock);
  // Prefers a free deque of the same scope, which may hold tasks, to an empty one of another scope.
  IsolationDeque* empty = nullptr;
  IsolationDeque* d = slot.isolation_deques;
  for (; d != nullptr; d = d->next) {
    if (d->in_use) continue;
    if (d->isolation == isolation) break;
    if (empty == nullptr && d->tasks.seems_empty()) empty = d;
  }
  if (d == nullptr) d = empty != nullptr ? empty : slot.free_isolation_deque();
  if (d == nullptr) throw std::bad_alloc();
  d->isolation = isolation;
  d->in_use = true;
  return d;
}

void release_isolation_deque(Slot& slot, IsolationDeque& d) {
  sync::LockGuard guard(slot.isolation_lock);
  d.in_use = false;
}

}  // namespace

IsolationScope new_isolation_scope() {
  static constinit std::atomic<IsolationScope> last{kNoIsolation};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: a unique number, no more
}

IsolationGuard::IsolationGuard(Thread& t, IsolationScope isolation)
    : thread_(t),
      outer_tasks_(t.tasks),
      outer_isolation_(t.isolation),
      outer_held_locks_(detail::own_held_locks()) {
  if (isolation == kNoIsolation) {
    t.tasks = &t.slot->tasks;
  } else {
    deque_ = take_isolation_deque(*t.slot, isolation);
    t.tasks = &deque_->tasks;
  }
  t.isolation = isolation;
  // Only tasks of the scope run here, which the caller has chosen. So a lock that was taken before
  // is no reason for a warning.
  if (isolation != kNoIsolation) detail::own_held_locks() = 0;
}

IsolationGuard::~IsolationGuard() {
  thread_.tasks = outer_tasks_;
  thread_.isolation = outer_isolation_;
  if (deque_ == nullptr) return;
  detail::own_held_locks() += outer_held_locks_;
  release_isolation_deque(*thread_.slot, *deque_);
}

}  // namespace corbel::sched
