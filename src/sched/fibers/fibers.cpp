// SPDX-License-Identifier: Apache-2.0
#include "sched/fibers/fibers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "arch/arch.hpp"
#include "sched/arena/arena.hpp"
#include "sched/arena/arena_scope.hpp"
#include "sched/core/other_stacks.hpp"
#include "sched/core/parked_threads.hpp"
#include "sched/core/program_runtime.hpp"
#include "sched/pool/dispatch.hpp"
#include "sched/pool/thread_pool.hpp"

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

bool has_told(const Point* list) {
  while (list != nullptr && !list->is_told) list = list->next;
  return list != nullptr;
}

// The exceptions that a thread is handling belong to the stack on which it handles them.
void save_exceptions(Stack& s) {
  std::memcpy(s.exceptions, exceptions_of_thread(), sizeof s.exceptions);
}
void restore_exceptions(const Stack& s) {
  std::memcpy(exceptions_of_thread(), s.exceptions, sizeof s.exceptions);
}

}  // namespace

void Fibers::go_to(Stack& stack) {
  Stack& here = *current_;
  here.position = ThreadPosition::of(thread_);
  save_exceptions(here);
  restore_exceptions(stack);
  trace::switch_clock(thread_, here.clock, stack.clock);
  stack.position.restore_to(thread_);
  here.range = thread_.stack;
  here.knows_range = thread_.knows_stack;
  thread_.stack = stack.range;
  thread_.knows_stack = stack.knows_range;
  current_ = &stack;
  here.last->switch_to(*stack.last);
}

void Fibers::run_segment(void* self) {
  Segment& segment = *static_cast<Segment*>(self);
  for (;;) {
    // A switch brings back the settings with which the segment was left last.
    arch::set_floating_point(segment.floating_point);
    segment.function(segment.argument);
    segment.fiber.switch_to(*segment.before);
  }
}

// Returns nullptr if there is no memory.
std::unique_ptr<Segment> Fibers::take_segment() {
  if (unused_segment_ != nullptr) return std::move(unused_segment_);
  if (!own_.fiber.is_complete()) return nullptr;
  std::unique_ptr<Segment> made(new (std::nothrow)
                                    Segment(thread_pool.stack_size(), &Fibers::run_segment));
  if (made != nullptr && !made->fiber.is_complete()) made.reset();
  return made;
}

bool Fibers::call(void (*f)(void*), void* argument) {
  std::unique_ptr<Segment> segment = take_segment();
  if (segment == nullptr) return false;
  // The call may leave this stack and come back to it, but it returns on it.
  Stack& here = *current_;
  const os::StackRange range = thread_.stack;
  segment->before = here.last;
  segment->function = f;
  segment->argument = argument;
  segment->floating_point = arch::floating_point();
  segment->fiber.take_signal_mask();
  here.last = &segment->fiber;
  thread_.stack = segment->fiber.stack();
  segment->before->switch_to(segment->fiber);
  thread_.stack = range;
  here.last = segment->before;
  // One is kept: a thread that has needed one may need it again at once.
  if (unused_segment_ == nullptr) unused_segment_ = std::move(segment);
  return true;
}

void Fibers::run_spare(void* self) {
  Fibers& fibers = *static_cast<Fibers*>(self);
  Thread& t = fibers.thread_;
  for (;;) {
    // The floating-point settings are still those of the task that the thread has left.
    arch::set_floating_point(t.arena->floating_point());
    Stack* ready = nullptr;
    while (ready == nullptr) {
      detail::wait_until(t, &fibers, &Fibers::has_ready);
      fibers.run_what_is_left();
      ready = fibers.take_ready();
    }
    fibers.spare_.push_back(fibers.current_);
    fibers.go_to(*ready);
  }
}

// Other stacks may wait for the tasks in this slot's deques, and perhaps no other thread has a slot
// in the arena to run them. So the thread runs them before it continues another stack.
void Fibers::run_what_is_left() {
  Thread& t = thread_;
  ++t.waits;  // the tasks run as in the wait
  for (;;) {
    drain(t);
    const FoundTask found = t.arena->find_in_own_isolation_deques(t);
    if (!found) break;
    run_found(t, found);
  }
  --t.waits;
}

// Takes a spare stack, or makes one; it uses no slot. Throws bad_alloc.
Stack& Fibers::spare() {
  if (spare_.empty()) {
    spare_.reserve(made_.size() + 1);
    left_.reserve(made_.size() + 1);
    made_.push_back(std::make_unique<Stack>(thread_pool.stack_size(), &Fibers::run_spare, this));
    if (!made_.back()->fiber.is_complete() || !own_.fiber.is_complete()) {
      made_.pop_back();
      throw std::bad_alloc();
    }
    spare_.push_back(made_.back().get());
  }
  Stack& s = *spare_.back();
  spare_.pop_back();
  s.position = {};
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
  // The spare stack uses the thread's slot, but is in no task and no isolation scope.
  next.position.arena = thread_.arena;
  next.position.slot = thread_.slot;
  next.position.wake_flag = thread_.wake_flag;
  next.position.tasks = &thread_.slot->tasks;
  next.position.context = &thread_.root;
  next.position.arena_floating_point = thread_.arena_floating_point;
  go_to(next);
}

bool Fibers::has_ready() const {
  // (1) acquire: sees what happened before resume(), published by (2)
  return has_told(in_order_) || has_told(resumed_.load(std::memory_order_acquire)) ||
         std::any_of(left_.begin(), left_.end(), is_over);
}

// Takes a stack that can continue; nullptr if there is none. There may be none even after
// has_ready(): another thread may have taken the slot in an arena that a stack waits for.
Stack* Fibers::take_ready() {
  const auto over = std::find_if(left_.begin(), left_.end(), is_over);
  if (over != left_.end()) return take(left_, over);

  // (3) acquire: sees what happened before resume(), published by (2)
  Point* newest = resumed_.exchange(nullptr, std::memory_order_acquire);
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

void Fibers::finish_waits() {
  if (left_.empty()) return;
  struct Leaving {
    const Fibers& fibers;
    Stack* const stack;
  };
  const Leaving leaving{*this, current_};
  detail::wait_until(thread_, &leaving, [](const void* key) {
    const auto& [fibers, stack] = *static_cast<const Leaving*>(key);
    // While another stack runs, the asking stack is itself among those left. The other stack is
    // then at rest only if it looks for work between tasks.
    return std::all_of(fibers.left_.begin(), fibers.left_.end(),
                       [&](const Stack* s) { return s == stack; }) &&
           (fibers.current_ == stack || fibers.is_between_tasks());
  });
}

// For the current stack in a wait, if it is not the thread's own: whether that wait is its only
// one.
bool Fibers::is_between_tasks() const {
  return thread_.waits <= 1 && thread_.arena_scope == nullptr;
}

// Called in a wait only. A stack that only looks for work is in no task; if it is the current one,
// its wait is the only one on it.
bool Fibers::uses(const Slot& slot, const Stack& stack) const {
  const bool is_current = &stack == current_;
  if (is_current ? &stack != &own_ && is_between_tasks()
                 : std::find(spare_.begin(), spare_.end(), &stack) != spare_.end()) {
    return false;
  }
  const Slot* const here = is_current ? thread_.slot : stack.position.slot;
  const ArenaScope* const from = is_current ? thread_.arena_scope : stack.position.arena_scope;
  return here == &slot || (from != nullptr && from->returns_to(slot));
}

bool Fibers::another_uses(const Slot& slot, const Stack& asking) const {
  const auto is_another = [&](const Stack& s) { return &s != &asking && uses(slot, s); };
  return is_another(own_) ||
         std::any_of(made_.begin(), made_.end(), [&](const auto& s) { return is_another(*s); });
}

void Fibers::finish_stacks_in(const Slot& slot) {
  struct Leaving {
    const Fibers& fibers;
    const Slot& slot;
    const Stack& stack;
  };
  const Leaving leaving{*this, slot, *current_};
  detail::wait_until(thread_, &leaving, [](const void* key) {
    const Leaving& l = *static_cast<const Leaving*>(key);
    return !l.fibers.another_uses(l.slot, l.stack);
  });
}

// Once the point is in the list, its memory may be freed at any time, and so may the thread's
// stacks.
void Fibers::resume(Point& point) {
  Point* newest = resumed_.load(std::memory_order_relaxed);  // relaxed: published by (2)
  do {
    point.next = newest;
    // (2) release: publishes what happened before the call to (1) and (3); relaxed: compared again
  } while (!resumed_.compare_exchange_weak(newest, &point, std::memory_order_release,
                                           std::memory_order_relaxed));
  os::process_barrier();  // orders the push before the load below; the caller may be any thread
  // relaxed: ordered by the barriers here and in the parking thread
  if (parked_threads.waiting().load(std::memory_order_relaxed) != 0)
    parked_threads.unpark_waiters(this);
}

// ---- other_stacks.hpp ---------------------------------------------------------------------------

bool has_other_stacks(const Fibers& fibers) { return fibers.has_others(); }

bool has_ready_stack(const Fibers& fibers) { return fibers.has_ready(); }

void run_ready_stack(Fibers& fibers, const void* key, bool (*done)(const void*)) {
  fibers.run_ready(key, done);
}

void finish_stacks_in(Fibers& fibers, const Slot& slot) { fibers.finish_stacks_in(slot); }

void finish_waits(Fibers& fibers) { fibers.finish_waits(); }

bool call_on_new_stack(Thread& t, void (*f)(void*), void* argument) {
  if (t.fibers == nullptr) t.fibers = new (std::nothrow) Fibers(t);
  return t.fibers != nullptr && t.fibers->call(f, argument);
}

void delete_fibers(Fibers* fibers) { delete fibers; }

}  // namespace sched

namespace detail {

void suspend(void (*tell)(void*, suspend_point), void* argument) {
  sched::Thread& t = sched::Thread::current();
  if (t.fibers == nullptr) t.fibers = new sched::Fibers(t);  // spare() reports a lack of memory
  t.has_suspended_stacks = true;
  t.fibers->suspend(tell, argument);
  if (sched::is_outside_tasks()) t.fibers->finish_waits();
}

void resume(suspend_point point) noexcept { point->fibers.resume(*point); }

std::uintptr_t stack_key() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t == nullptr || t->fibers == nullptr ? 0 : t->fibers->key();
}

}  // namespace detail
}  // namespace corbel
