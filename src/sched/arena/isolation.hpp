// SPDX-License-Identifier: Apache-2.0
// Isolation scopes: this_task_arena::isolate and the groups that use it.
#pragma once

#include "sched/arena/slot.hpp"

namespace corbel::sched {

// Returns the number of a new isolation scope.
IsolationScope new_isolation_scope();

// Puts the thread into an isolation scope until the end of the object: it runs only tasks of the
// scope, and spawns its tasks there. Throws bad_alloc.
class IsolationGuard {
 public:
  IsolationGuard(Thread& t, IsolationScope isolation);
  ~IsolationGuard();
  IsolationGuard(const IsolationGuard&) = delete;
  IsolationGuard& operator=(const IsolationGuard&) = delete;

 private:
  Thread& thread_;
  IsolationDeque* deque_ = nullptr;
  task_deque* const outer_tasks_;
  const IsolationScope outer_isolation_;
  const int outer_held_locks_;
};

}  // namespace corbel::sched
