// SPDX-License-Identifier: Apache-2.0
// The queues of an arena: tasks that were enqueued, and the mailboxes of its slots.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "sched/core/lock_ranks.hpp"
#include "sched/core/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

// A task that a thread did not take from its own deque, and the isolation scope that it belongs to.
struct FoundTask {
  task_base* task = nullptr;
  IsolationScope isolation = kNoIsolation;
  const CallLink* call = nullptr;  // of a delegated call
  explicit operator bool() const { return task != nullptr; }
};

// Whether a thread that waits in the scope `mine` may run tasks of `other`.
inline bool may_run(IsolationScope mine, IsolationScope other) {
  return mine == kNoIsolation || mine == other;
}

// First in, first out. Holds few tasks, so a lock is good enough.
class TaskQueue {
 public:
  void push(const FoundTask& task);
  // Takes the oldest task that the thread may run; without `enters_isolation`, only one of the
  // isolation scope it is in.
  FoundTask pop(const Thread& t, bool enters_isolation = true) {
    if (seems_empty()) return {};
    return pop_slow(t, enters_isolation);
  }
  bool has_some_for(const Thread& t) const { return !seems_empty() && has_some_for_slow(t); }
  bool has_some_in(IsolationScope isolation) const {
    return !seems_empty() && has_some_in_slow(isolation);
  }
  // Removes that task; returns false if it is not there.
  bool remove(const task_base& task);
  // relaxed: a hint; exact only after a process barrier
  bool seems_empty() const { return length_.load(std::memory_order_relaxed) == 0; }

  // For the fork handlers, and in the child of a fork.
  sync::Lock& lock() { return lock_; }
  void clear();

 private:
  friend struct DebugAccess;

  FoundTask pop_slow(const Thread& t, bool enters_isolation);
  bool has_some_for_slow(const Thread& t) const;
  bool has_some_in_slow(IsolationScope isolation) const;
  // Under the lock.
  void update_length() {
    // relaxed: a thread that reads it without the lock has passed a process barrier, or looks again
    length_.store(std::uint32_t(tasks_.size()), std::memory_order_relaxed);
  }

  mutable sync::Lock lock_{kQueue};
  std::deque<FoundTask> tasks_;
  std::atomic<std::uint32_t> length_{0};
};

}  // namespace corbel::sched
