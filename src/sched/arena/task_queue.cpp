// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/task_queue.hpp"

#include <algorithm>

namespace corbel::sched {

namespace {

// A delegated call may wait for anything, including what is suspended further down on the stack of
// the thread that makes it. So a thread makes it only if there are no task, no parallel call and no
// other delegated call below, in whatever arena. Calls that another one is part of for which the
// thread waits are safe: that one does not wait for what is below the wait.
bool may_make(const Thread& t, const CallLink& call) {
  if (t.context != &t.root) return false;
  if (t.around == nullptr) return true;
  for (const CallLink* awaited = t.awaited; awaited != nullptr; awaited = awaited->awaited_below) {
    if (call.is_within(*awaited)) return true;
  }
  return false;
}

bool may_take(const Thread& t, const FoundTask& f) {
  return may_run(t.isolation, f.isolation) && (f.call == nullptr || may_make(t, *f.call));
}

}  // namespace

void TaskQueue::push(const FoundTask& task) {
  sync::LockGuard guard(lock_);
  tasks_.push_back(task);
  update_length();
}

FoundTask TaskQueue::pop_slow(const Thread& t, bool enters_isolation) {
  sync::LockGuard guard(lock_);
  const auto fits = std::find_if(tasks_.begin(), tasks_.end(), [&](const FoundTask& f) {
    return may_take(t, f) && (enters_isolation || f.isolation == t.isolation);
  });
  if (fits == tasks_.end()) return {};
  const FoundTask found = *fits;
  tasks_.erase(fits);
  update_length();
  return found;
}

bool TaskQueue::remove(const task_base& task) {
  sync::LockGuard guard(lock_);
  const auto it = std::find_if(tasks_.begin(), tasks_.end(),
                               [&](const FoundTask& f) { return f.task == &task; });
  if (it == tasks_.end()) return false;
  tasks_.erase(it);
  update_length();
  return true;
}

void TaskQueue::clear() {
  sync::LockGuard guard(lock_);
  tasks_.clear();
  update_length();
}

bool TaskQueue::has_some_for_slow(const Thread& t) const {
  sync::LockGuard guard(lock_);
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const FoundTask& f) { return may_take(t, f); });
}

bool TaskQueue::has_some_in_slow(IsolationScope isolation) const {
  sync::LockGuard guard(lock_);
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const FoundTask& f) { return may_run(isolation, f.isolation); });
}

}  // namespace corbel::sched
