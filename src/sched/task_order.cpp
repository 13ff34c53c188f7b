// SPDX-License-Identifier: Apache-2.0
// Tasks that come after others.
#include <corbel/detail/group_task.hpp>

#include <new>

#include "sched/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::detail {

// The task, each completion handle and each order that points here keep one reference.
//
// A task begins when `blockers` comes to zero: one for its own submission and one for each that it
// comes after. Who takes the last one away spawns it; all the others have nothing more to do with
// it, so the one may read `task`.
struct task_order {
  // An entry of the list of those that come after; keeps one reference.
  struct entry {
    task_order* later;
    entry* next;
  };

  explicit task_order(group_task& t) : task(&t) {}

  std::atomic<std::uint32_t> references{1};
  std::atomic<std::uint32_t> blockers{1};
  group_task* const task;

  sync::Lock lock{sched::kOrder};
  bool ended = false;
  task_order* moved_to = nullptr;  // those that come after this come after that one instead
  entry* after = nullptr;
};

namespace {

// A task that another has handed its successors to may hand them on; a chain leads to where they
// are. References are kept, so that the chain stays. Returns it locked.
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

// Where there is no memory to keep the task, it is done here and now: nobody could be told.
void begin(worker& w, group_task& t) noexcept {
  try {
    spawn(w, t);
  } catch (const std::bad_alloc&) {
    run_any(w, &t);
  }
}

}  // namespace

task_order& order_of(group_task& t) {
  // relaxed: one thread at a time has the task's handle
  task_order* order = t.order.load(std::memory_order_relaxed);
  if (order == nullptr) {
    order = new task_order(t);
    t.order.store(order, std::memory_order_relaxed);  // relaxed: as above
  }
  return *order;
}

void keep(task_order& order) noexcept {
  order.references.fetch_add(1, std::memory_order_relaxed);  // relaxed: the caller has one
}

void drop(task_order& order) noexcept {
  // acq_rel: what the others did with it is over
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
  const bool ended = earlier.ended;
  if (!ended) {
    keep(later);
    later.blockers.fetch_add(1, std::memory_order_relaxed);  // relaxed: not submitted yet
    append(earlier.after, entry);
  }
  earlier.lock.unlock();
  if (ended) delete entry;
}

bool may_begin(task_order& order) noexcept {
  // acq_rel: what the earlier ones did is seen by the one that begins
  return order.blockers.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void transfer_order(worker& w, group_task& t) {
  if (w.running == nullptr || w.running == &t) return;
  task_order& from = order_of(*w.running);
  task_order& to = order_of(t);
  task_order::entry* moved = nullptr;
  {
    sync::LockGuard guard(from.lock);
    if (from.moved_to != nullptr) return;  // handed on before: there is nothing left
    keep(to);
    moved = from.after;
    from.after = nullptr;
    from.moved_to = &to;
  }
  task_order& end = lock_end_of_chain(to);
  append(end.after, moved);
  end.lock.unlock();
}

bool has_ended(task_order& order) noexcept {
  task_order& end = lock_end_of_chain(order);
  const bool ended = end.ended;
  end.lock.unlock();
  return ended;
}

void end_order(worker& w, task_order& order) noexcept {
  task_order::entry* after = nullptr;
  {
    sync::LockGuard guard(order.lock);
    order.ended = true;
    after = order.after;
    order.after = nullptr;
  }
  while (after != nullptr) {
    task_order::entry* const entry = after;
    after = entry->next;
    task_order& later = *entry->later;
    delete entry;
    if (may_begin(later)) begin(w, *later.task);
    drop(later);
  }
  drop(order);
}

}  // namespace corbel::detail
