// SPDX-License-Identifier: Apache-2.0
#include "sched/fibers.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "arch/arch.hpp"
#include "sched/arena.hpp"
#include "sched/attach.hpp"
#include "sched/dispatch.hpp"
#include "sched/place.hpp"
#include "sched/pool.hpp"
#include "sched/sleepers.hpp"

namespace corbel {
namespace sched {
namespace {

using Point = detail::suspend_point_type;

template <typename T>
T take(std::vector<T>& from, typename std::vector<T>::iterator one) {
  const T taken = *one;
  from.erase(one);
  return taken;
}

bool is_over(const Stack* s) { return s->done(s->key); }

bool is_some_told(const Point* list) {
  while (list != nullptr && !list->is_told) list = list->next;
  return list != nullptr;
}

// The exceptions that a thread is handling belong to the stack on which it does.
void keep_exceptions(Stack& s) {
  std::memcpy(s.exceptions, abi::__cxa_get_globals(), sizeof s.exceptions);
}
void bring_exceptions(const Stack& s) {
  std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), s.exceptions, sizeof s.exceptions);
}

}  // namespace

void Fibers::go_to(Stack& stack) {
  Stack& here = *current_;
  here.standing = Standing::of(thread_);
  keep_exceptions(here);
  bring_exceptions(stack);
  trace::switch_strand(thread_, here.strand, stack.strand);
  stack.standing.give_to(thread_);
  current_ = &stack;
  here.fiber.switch_to(stack.fiber);
}

void Fibers::run_spare(void* self) {
  Fibers& fibers = *static_cast<Fibers*>(self);
  Thread& t = fibers.thread_;
  for (;;) {
    // Not those of the task that the thread has left.
    arch::set_floating_point(t.arena->floating_point());
    Stack* ready = nullptr;
    while (ready == nullptr) {
      detail::wait_until(t, &fibers, &Fibers::has_ready);
      fibers.clear_place();
      ready = fibers.take_ready();
    }
    fibers.spare_.push_back(fibers.current_);
    fibers.go_to(*ready);
  }
}

// What lies in the place may be what others wait for, and nobody else need have a place in the
// arena: the thread does not go elsewhere before.
void Fibers::clear_place() {
  Thread& t = thread_;
  ++t.waits;  // as the tasks were run in the wait
  for (;;) {
    drain(t);
    const Found found = t.arena->find_in_own_regions(t);
    if (!found) break;
    run_found(t, found);
  }
  --t.waits;
}

// One that stands nowhere.
Stack& Fibers::spare() {
  if (spare_.empty()) {
    spare_.reserve(made_.size() + 1);
    left_.reserve(made_.size() + 1);
    made_.push_back(std::make_unique<Stack>(pool.stack_size(), &Fibers::run_spare, this));
    if (!made_.back()->fiber.is_complete() || !own_.fiber.is_complete()) {
      made_.pop_back();
      throw std::bad_alloc();
    }
    spare_.push_back(made_.back().get());
  }
  Stack& s = *spare_.back();
  spare_.pop_back();
  s.standing = {};
  return s;
}

void Fibers::suspend(void (*tell)(void*, detail::suspend_point), void* argument) {
  Stack& next = spare();
  Point point{*this, *current_};
  try {
    tell(argument, &point);
  } catch (...) {
    spare_.push_back(&next);
    throw;
  }
  point.is_told = true;
  // With the thread's place in its arena, but in no task and no region.
  next.standing.arena = thread_.arena;
  next.standing.slot = thread_.slot;
  next.standing.bell = thread_.bell;
  next.standing.tasks = &thread_.slot->tasks;
  next.standing.context = &thread_.root;
  go_to(next);
}

bool Fibers::has_ready() const {
  // (1) acquire: what happened before resume(), with (2)
  return is_some_told(in_order_) || is_some_told(resumed_.load(std::memory_order_acquire)) ||
         std::any_of(left_.begin(), left_.end(), is_over);
}

// Not always one, behind has_ready(): a place in an arena that a stack waits for may be taken by
// another thread at any time.
Stack* Fibers::take_ready() {
  const auto over = std::find_if(left_.begin(), left_.end(), is_over);
  if (over != left_.end()) return take(left_, over);

  Point* newest = resumed_.exchange(nullptr, std::memory_order_acquire);  // acquire: as (1)
  Point* oldest = nullptr;
  Point** const end = newest != nullptr ? &newest->next : end_;
  while (newest != nullptr) {
    Point* const older = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = older;
  }
  *end_ = oldest;
  end_ = end;

  for (Point** link = &in_order_; *link != nullptr; link = &(*link)->next) {
    Point& p = **link;
    if (!p.is_told) continue;
    *link = p.next;
    if (p.next == nullptr) end_ = link;
    return &p.stack;
  }
  return nullptr;
}

void Fibers::run_ready(const void* key, bool (*done)(const void*)) {
  Stack* const ready = take_ready();
  if (ready == nullptr) return;
  current_->key = key;
  current_->done = done;
  left_.push_back(current_);
  go_to(*ready);
}

void Fibers::let_waits_end() {
  if (left_.empty()) return;  // as behind the wait below
  struct Leaving {
    const Fibers& fibers;
    Stack* const stack;
  };
  const Leaving leaving{*this, current_};
  detail::wait_until(thread_, &leaving, [](const void* key) {
    const auto& [fibers, stack] = *static_cast<const Leaving*>(key);
    // The one that asks is left itself while another goes on. That one is not in the middle of
    // something else when it looks for work between tasks.
    return std::all_of(fibers.left_.begin(), fibers.left_.end(),
                       [&](const Stack* s) { return s == stack; }) &&
           (fibers.current_ == stack || fibers.is_between_tasks());
  });
}

// Asked by the current stack in a wait, if it is not the thread's own: whether that is its only
// one.
bool Fibers::is_between_tasks() const { return thread_.waits <= 1 && thread_.place == nullptr; }

// Asked in a wait only. One that only looks for work is in no task; if it is the current one, its
// wait is the only one on the stack.
bool Fibers::stands_in(const Slot& slot, const Stack& stack) const {
  const bool is_current = &stack == current_;
  if (is_current ? &stack != &own_ && is_between_tasks()
                 : std::find(spare_.begin(), spare_.end(), &stack) != spare_.end()) {
    return false;
  }
  const Slot* const here = is_current ? thread_.slot : stack.standing.slot;
  const Place* const from = is_current ? thread_.place : stack.standing.place;
  return here == &slot || (from != nullptr && from->leads_back_to(slot));
}

bool Fibers::somebody_stands_in(const Slot& slot, const Stack& asking) const {
  const auto is_another = [&](const Stack& s) { return &s != &asking && stands_in(slot, s); };
  return is_another(own_) ||
         std::any_of(made_.begin(), made_.end(), [&](const auto& s) { return is_another(*s); });
}

void Fibers::let_others_leave(const Slot& slot) {
  struct Leaving {
    const Fibers& fibers;
    const Slot& slot;
    const Stack& stack;
  };
  const Leaving leaving{*this, slot, *current_};
  detail::wait_until(thread_, &leaving, [](const void* key) {
    const Leaving& l = *static_cast<const Leaving*>(key);
    return !l.fibers.somebody_stands_in(l.slot, l.stack);
  });
}

// The point's memory may be gone as soon as it is in the list, and the thread with its stacks.
void Fibers::resume(Point& point) {
  Point* newest = resumed_.load(std::memory_order_relaxed);  // relaxed: published by (2)
  // (2) release: what happened before the call, with (1); relaxed: as before
  do {
    point.next = newest;
  } while (!resumed_.compare_exchange_weak(newest, &point, std::memory_order_release,
                                           std::memory_order_relaxed));
  os::process_barrier();  // before the look at who sleeps; callers may be no workers
  // relaxed: ordered by the barriers here and of the sleeper
  if (sleepers.waiting().load(std::memory_order_relaxed) != 0) sleepers.wake(this);
}

}  // namespace sched

namespace detail {

void suspend(void (*tell)(void*, suspend_point), void* argument) {
  sched::Thread& t = sched::Thread::current();
  if (t.fibers == nullptr) t.fibers = new sched::Fibers(t);  // what lacks memory spare() says
  t.has_stacks = true;
  t.fibers->suspend(tell, argument);
  if (sched::is_outside()) t.fibers->let_waits_end();
}

void resume(suspend_point point) noexcept { point->fibers.resume(*point); }

}  // namespace detail
}  // namespace corbel
