// SPDX-License-Identifier: Apache-2.0
// A thread that takes part in the scheduler: a worker or an external thread.
#pragma once

#include <corbel/detail/task.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "os/os.hpp"
#include "sched/core/parking.hpp"

namespace corbel::sched {

using detail::context_node;
using detail::task_base;
using detail::task_deque;

class Arena;
class ArenaScope;
class Fibers;
struct Slot;
struct Thread;

// The number of an isolation scope: one call of this_task_arena::isolate. A thread that waits in
// one runs only the tasks of that scope; outside of all scopes (kNoIsolation) it may run any task.
using IsolationScope = std::uint64_t;
inline constexpr IsolationScope kNoIsolation = 0;

// A delegated call (api/task_arena.cpp) as queues and threads know it.
struct CallLink {
  const CallLink* outer = nullptr;          // around_new_call() of the caller
  const CallLink* awaited_below = nullptr;  // the next on the stack of the caller
  bool is_of_task = false;                  // a task waits for it, perhaps by way of other calls

  // Whether `c` cannot end before this call: this one was made in it, or in one that was, and so
  // on.
  bool is_within(const CallLink& c) const {
    const CallLink* link = outer;
    while (link != nullptr && link != &c) link = link->outer;
    return link != nullptr;
  }
};

// Stands for any task.
extern const CallLink some_task;

// The fields of a thread that belong to its slot and its stack. They are saved when the thread
// moves to another slot or stack.
struct ThreadPosition {
  Arena* arena = nullptr;
  Slot* slot = nullptr;
  const std::atomic<std::uint32_t>* wake_flag = nullptr;
  task_deque* tasks = nullptr;
  IsolationScope isolation = kNoIsolation;
  context_node* context = nullptr;
  detail::classic_position classic;
  detail::group_task* running = nullptr;
  bool has_floating_point = false;
  unsigned waits = 0;
  const ArenaScope* arena_scope = nullptr;
  const CallLink* around = nullptr;
  const CallLink* awaited = nullptr;
  std::uint32_t arena_floating_point = 0;

  static ThreadPosition of(const Thread& t);
  void restore_to(Thread& t) const;
};

// A Thread object is never freed, only reused for another thread: a late waker may still access it.
struct Thread : detail::thread_data {
  Arena* arena = nullptr;
  Slot* slot = nullptr;
  IsolationScope isolation = kNoIsolation;
  context_node root;  // the context outside of all tasks
  BasicWaitNode<Thread, std::atomic> wait_node;
  std::uint32_t random = 1;
  std::uint32_t system_id = 0;  // os::thread_id(); for debuggers
  bool is_worker = false;
  bool brings_another = false;              // see Arena::wake_on_next_push
  std::uint32_t arena_floating_point = 0;   // the settings of its arena
  Arena* implicit_arena = nullptr;          // an external thread's own
  bool is_counted = false;                  // among the workers of its arena and of the pool
  std::uint64_t seen_global = 0;            // like Slot::seen, for the observers of all arenas
  unsigned waits = 0;                       // how many waits are nested on this stack
  const ArenaScope* arena_scope = nullptr;  // the innermost one on this stack
  // What has begun on this stack and not ended, apart from what is in the innermost arena scope:
  // the innermost delegated call that the thread makes for another one, or task (some_task).
  const CallLink* around = nullptr;
  // The innermost delegated call on this stack that another thread is to make, apart from those
  // that are below a task or a call of a task.
  const CallLink* awaited = nullptr;
  Fibers* fibers = nullptr;  // from the first use of another stack on
  os::StackRange stack;      // the one it is on, if `knows_stack`
  bool knows_stack = false;
  std::uintptr_t first_frame = 0;        // of the first task that the thread ran
  void* classic_state = nullptr;         // a classic::ClassicState; outlives the thread
  void* former_classic_state = nullptr;  // of an ended thread that had this record
  Thread* next_unused = nullptr;
  Thread* next_made = nullptr;  // in the list of all; written once
  // How many tasks its threads have stolen. Only the thread itself writes it.
  std::atomic<std::uint64_t> stolen{0};

  // Random enough to choose a victim (xorshift; G. Marsaglia, 2003).
  std::uint32_t next_random() {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return random;
  }

  // relaxed both: a statistic
  void count_theft() {
    stolen.store(stolen.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  static Thread& current() { return static_cast<Thread&>(detail::current_thread()); }
  // nullptr before the thread's first use of the library.
  static Thread* current_or_null() { return static_cast<Thread*>(detail::own_thread_data()); }
};

// Like Thread::around, for an arena scope or a call that begins now.
inline const CallLink* around_new_call(const Thread& t) {
  return t.context == &t.root ? t.around : &some_task;
}

// Whether an external thread is in no task and in no arena but its own.
bool is_in_no_task(const Thread& t);

// Whether the calling thread is in no task, and in no isolation scope either.
bool is_outside_tasks();

inline ThreadPosition ThreadPosition::of(const Thread& t) {
  return {t.arena,
          t.slot,
          t.wake_flag,
          t.tasks,
          t.isolation,
          t.context,
          t.classic,
          t.running,
          t.has_floating_point,
          t.waits,
          t.arena_scope,
          t.around,
          t.awaited,
          t.arena_floating_point};
}

inline void ThreadPosition::restore_to(Thread& t) const {
  t.arena = arena;
  t.slot = slot;
  t.wake_flag = wake_flag;
  t.tasks = tasks;
  t.isolation = isolation;
  t.context = context;
  t.classic = classic;
  t.running = running;
  t.has_floating_point = has_floating_point;
  t.waits = waits;
  t.arena_scope = arena_scope;
  t.around = around;
  t.awaited = awaited;
  t.arena_floating_point = arena_floating_point;
}

}  // namespace corbel::sched
