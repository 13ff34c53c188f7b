// SPDX-License-Identifier: Apache-2.0
// Tasks that begin after other tasks have ended (task_group::task_group::set_task_order).
#include <corbel/detail/group_task.hpp>
#include <corbel/detail/trace.hpp>

#include <new>

#include "sched/core/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::detail {

// The task, each completion handle and each task_order that points here own one reference.
//
// A task begins when `blockers` becomes zero: one for its own submission and one for each
// predecessor. The thread that removes the last one spawns the task; the other threads no longer
// access it, so only that thread may read `task`.
struct task_order {
  // An entry of the list of successors; owns one reference.
  struct entry {
    task_order* later;
    entry* next;
  };

  explicit task_order(group_task& t) : task(&t) {}

  std::atomic<std::uint32_t> references{1};
  std::atomic<std::uint32_t> blockers{1};
  group_task* const task;

  enum Outcome : std::uint8_t { kOpen, kRun, kDropped };

  sync::Lock lock{sched::kTaskOrder};
  Outcome outcome = kOpen;
  path_mark path;                  // to the end of the task
  task_order* moved_to = nullptr;  // has the successors instead
  entry* after = nullptr;
};

namespace {

// A task may hand its successors to another, which may hand them on. Follows this chain to the
// task_order that has the successors, and returns it locked. Each link of the chain owns a
// reference.
task_order& lock_end_of_chain(task_order& order) {
  task_order* o = &order;
  for (;;) {
    o->lock.lock();
    if (o->moved_to == nullptr) return *o;
    task_order* const next = o->moved_to;
    o->lock.unlock();
    o = next;
  }
}

void append(task_order::entry*& list, task_order::entry* more) {
  task_order::entry** end = &list;
  while (*end != nullptr) end = &(*end)->next;
  *end = more;
}

// Spawns the task. If there is no memory to push it, runs it at once: there is no caller to report
// the error to.
void begin(thread_data& thread, group_task& t) noexcept {
  try {
    spawn(thread, t);
  } catch (const std::bad_alloc&) {
    run_any(thread, &t);
  }
}

}  // namespace

task_order& order_of(group_task& t) {
  // relaxed, both: one thread at a time has the task's handle
  task_order* order = t.order.load(std::memory_order_relaxed);
  if (order == nullptr) {
    order = new task_order(t);
    t.order.store(order, std::memory_order_relaxed);
  }
  return *order;
}

void keep(task_order& order) noexcept {
  order.references.fetch_add(1, std::memory_order_relaxed);  // relaxed: the caller owns one
}

void drop(task_order& order) noexcept {
  // (1) acq_rel: the thread that deletes it sees, and comes after, what the others did before
  // their (1)
  for (task_order* o = &order; o->references.fetch_sub(1, std::memory_order_acq_rel) == 1;) {
    task_order* const next = o->moved_to;
    delete o;
    if (next == nullptr) return;
    o = next;
  }
}

void put_before(task_order& before, group_task& after) {
  task_order& later = order_of(after);
  auto* const entry = new task_order::entry{&later, nullptr};
  task_order& earlier = lock_end_of_chain(before);
  const bool ended = earlier.outcome != task_order::kOpen;
  if (!ended) {
    keep(later);
    later.blockers.fetch_add(1, std::memory_order_relaxed);  // relaxed: not submitted yet
    append(earlier.after, entry);
  }
  earlier.lock.unlock();
  if (ended) delete entry;
}

bool may_begin(task_order& order) noexcept {
  // (2) acq_rel: the task begins after all that its predecessors did before their (2)
  return order.blockers.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void transfer_order(thread_data& thread, group_task& t) {
  if (thread.running == nullptr || thread.running == &t) return;
  task_order& from = order_of(*thread.running);
  task_order& to = order_of(t);
  task_order::entry* moved = nullptr;
  {
    sync::LockGuard guard(from.lock);
    if (from.moved_to != nullptr) return;  // handed on already
    keep(to);
    moved = from.after;
    from.after = nullptr;
    from.moved_to = &to;
  }
  task_order& end = lock_end_of_chain(to);
  append(end.after, moved);
  end.lock.unlock();
}

namespace {

task_order::Outcome outcome_of(task_order& order) {
  task_order& end = lock_end_of_chain(order);
  const task_order::Outcome outcome = end.outcome;
  end.lock.unlock();
  return outcome;
}

void end_with(thread_data& thread, task_order& order, task_order::Outcome outcome) noexcept {
  task_order::entry* after = nullptr;
  {
    sync::LockGuard guard(order.lock);
    order.outcome = outcome;
    order.path.set(thread);
    after = order.after;
    order.after = nullptr;
  }
  notify_waiters(thread, &order);
  while (after != nullptr) {
    task_order::entry* const entry = after;
    after = entry->next;
    task_order& later = *entry->later;
    delete entry;
    trace_end(thread, later.task);  // trace::run_task joins it
    if (may_begin(later)) begin(thread, *later.task);
    drop(later);
  }
  drop(order);
}

}  // namespace

bool has_ended(task_order& order) noexcept { return outcome_of(order) != task_order::kOpen; }

bool was_dropped(task_order& order) noexcept { return outcome_of(order) == task_order::kDropped; }

void join_path(thread_data& thread, task_order& order) noexcept {
  task_order& end = lock_end_of_chain(order);
  end.path.join(thread);
  end.lock.unlock();
}

void end_order(thread_data& thread, task_order& order) noexcept {
  end_with(thread, order, task_order::kRun);
}

void end_order_unrun(thread_data& thread, task_order& order) noexcept {
  end_with(thread, order, task_order::kDropped);
}

}  // namespace corbel::detail
