// SPDX-License-Identifier: Apache-2.0
// A slot of an arena: a position that one thread at a time occupies, with a deque.
#pragma once

#include <atomic>
#include <cstdint>

#include "sched/arena/task_queue.hpp"
#include "sched/core/lock_ranks.hpp"
#include "sched/core/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

// The tasks of one isolation scope in a slot.
struct IsolationDeque {
  IsolationDeque();
  task_deque tasks;
  IsolationScope isolation = kNoIsolation;
  bool in_use = false;  // its thread is in the scope
  IsolationDeque* next = nullptr;
};

struct alignas(detail::kCacheLine) Slot {
  Slot();
  ~Slot();

  // ---- read by thieves
  std::atomic<Thread*> occupant{nullptr};  // owns `tasks`, takes from `mail`
  task_deque tasks;
  TaskQueue mail;  // the mailbox: tasks that this slot should run if it can (affinity)

  // The deques of the isolation scopes that threads in this slot are or were in. Any thread may
  // steal from them. When the thread has left the scope and the deque is empty, another scope
  // reuses it.
  mutable sync::Lock isolation_lock{kIsolation};
  IsolationDeque* isolation_deques = nullptr;
  std::atomic<std::uint32_t> isolation_deque_count{0};
  // Returns a deque that another scope can use; nullptr if there is no memory for a new one. Call
  // it under isolation_lock.
  IsolationDeque* free_isolation_deque();

  std::uint32_t index = 0;
  std::uint64_t seen = 0;  // the last of the arena's observations that the occupant has seen
};

}  // namespace corbel::sched
