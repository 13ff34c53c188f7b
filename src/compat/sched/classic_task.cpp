// SPDX-License-Identifier: Apache-2.0
// Running classic tasks and counting their references.
//
// Counting down without read-modify-writes. Whoever changes a task's count holds a reference that
// is counted: a child that has not ended, or the wait. So when a thread finds a count equal to the
// number of references that it holds itself, nobody else will change it, and a plain store will do.
// (A count read too early may be too large, never too small: references that others hold are given
// back later, and none is added but by a holder.) A thread often holds more than one:
//   - the wait's, if the wait lies further down on its own stack (classic_position::awaited);
//   - those of children that have ended here and are not counted yet. Nobody misses them while the
//     count cannot come to its end anyway: this thread's own wait is all that looks at it.
//   - that of a sibling which it has just popped from its deque, so that no thief can have it.
// A fork that nobody steals from thus costs no atomic read-modify-write.
#include <new>

#include <corbel/detail/held_locks.hpp>
#include <corbel/task.hpp>
#include <corbel/task_arena.hpp>

#include "compat/sched/classic_home.hpp"
#include "sched/dispatch.hpp"
#include "sched/floating_point.hpp"

namespace corbel::detail {

using compat::ClassicHome;
using sched::Thread;

namespace {

// In the loop below everything but these is inlined, so that its variables stay in registers.

// One of the two is to be run next.
CORBEL_NOINLINE classic_record* spawn_ready(worker& w, classic_record& ready,
                                            classic_record* next) {
  ready.set_state(classic_record::kReady);
  try {
    spawn(w, ready);
  } catch (const std::bad_alloc&) {
    run_task(w, &ready);  // nobody could be told
  }
  return next;
}

// The task has been recycled to be enqueued, and its children have ended.
CORBEL_NOINLINE classic_record* enqueue_ready(worker& w, classic_record& ready,
                                              classic_record* next) {
  ready.bits &= ~std::uint32_t(classic_record::kToEnqueue);
  try {
    enqueue_classic(w, ready);
    return next;
  } catch (const std::bad_alloc&) {
    return next == nullptr ? &ready : spawn_ready(w, ready, next);
  }
}

inline classic_record* also(worker& w, classic_record& ready, classic_record* next) {
  if (CORBEL_UNLIKELY((ready.bits & classic_record::kToEnqueue) != 0)) {
    return enqueue_ready(w, ready, next);
  }
  return CORBEL_LIKELY(next == nullptr) ? &ready : spawn_ready(w, ready, next);
}

// What has just been popped and is of no use.
CORBEL_NOINLINE classic_record* push_again(worker& w, task_base* t) {
  if (t != nullptr) spawn(w, *t);
  return nullptr;
}

// The task that this thread spawned last, if it is a classic one, and a child of `parent`.
inline classic_record* pop_child_of(worker& w, const classic_record& parent,
                                    task_base::function kind) {
  task_base* const t = w.tasks->pop();
  if (CORBEL_LIKELY(t != nullptr && t->run == kind)) {
    classic_record* const r = static_cast<classic_record*>(t);
    if (CORBEL_LIKELY(r->parent == &parent)) return r;
  }
  return push_again(w, t);
}

CORBEL_NOINLINE classic_record* remove_child(worker& w, classic_record& parent,
                                             classic_record* next) {
  return parent.remove_references(w, 1) == 0 ? also(w, parent, next) : next;
}

// A child of `parent` has ended, which this thread does not wait for.
inline classic_record* end_child(worker& w, classic_record& parent, classic_record* next,
                                 task_base::function kind) {
  const std::uint32_t references = parent.references();
  if (references == 1) {
    // relaxed: the only reference is the child's, which has ended; kAwaited is not set, since who
    // waits has a reference, too
    parent.count.store(0, std::memory_order_relaxed);
    return also(w, parent, next);
  }
  if (CORBEL_LIKELY(references == 2 && next == nullptr)) {
    if (classic_record* const sibling = pop_child_of(w, parent, kind)) {
      parent.count.store(1, std::memory_order_relaxed);  // relaxed: both references are here
      return sibling;
    }
  }
  return remove_child(w, parent, next);
}

// Children of the task for which this thread waits have ended.
void count_ended(worker& w, classic_record& awaited, std::uint32_t ended) {
  // acquire: what the others' children did; relaxed: all references left are this thread's
  if (awaited.references() == ended + 1) {
    const std::uint32_t count = awaited.count.load(std::memory_order_relaxed);
    awaited.count.store(count - ended, std::memory_order_relaxed);
  } else {
    awaited.remove_references(w, ended);
  }
}

// The task has been recycled, and may be elsewhere by now if it is kept.
inline classic_record* end_recycled(worker& w, classic_record& r, classic_record* next) {
  const classic_position::after_type after = w.classic.after;
  w.classic.after = classic_position::kEnds;
  if (CORBEL_LIKELY(after == classic_position::kKept)) return next;
  if (after == classic_position::kReexecutes) return also(w, r, next);
  return remove_child(w, r, next);
}

// Runs the task and those that follow from it by bypass. In a traced thread, which wants to see
// each, only the one: returns the next.
template <bool kTraced>
classic_record* run_chain(worker& w, classic_record* r, bool cancelled) {
  const task_base::function kind = r->run;
  const classic_position outer = w.classic;
  classic_record* const awaited = outer.awaited;
  std::uint32_t ended = 0;  // children of `awaited` that are still counted
  w.classic.after = classic_position::kEnds;
  do {
    w.classic.running = r;
    task* t = nullptr;
    if (CORBEL_LIKELY(!cancelled)) {
      try {
        t = r->object().execute();
      } catch (...) {
        capture_exception(*w.context);  // r may be elsewhere by now
      }
    }
    classic_record* next = t == nullptr ? nullptr : &classic_record::of(*t);
    if (w.classic.after == classic_position::kEnds) {
      classic_record* const parent = r->parent;
      r->object().~task();
      deallocate_record(w, r);
      if (parent == nullptr) {
      } else if (parent != awaited) {
        next = end_child(w, *parent, next, kind);
      } else {
        ++ended;
        if (next == nullptr && awaited->references() != ended + 1) {
          next = pop_child_of(w, *awaited, kind);
        }
      }
    } else {
      next = end_recycled(w, *r, next);
    }
    r = next;
    if (kTraced || r == nullptr) break;
    if (CORBEL_UNLIKELY(r->context != w.context)) w.context = r->context;
    cancelled = w.is_cancelled(*r->context);
  } while (true);
  if (ended != 0) count_ended(w, *awaited, ended);
  w.classic = outer;
  return r;
}

// A task that another thread has spawned, or that was mailed or enqueued.
CORBEL_NOINLINE void note_arrival(Thread& t, classic_record& r) {
  t.arrived = nullptr;
  if ((r.bits & classic_record::kEnqueued) != 0) return;
  r.bits |= classic_record::kStolen;
  const auto here = task::affinity_id(t.slot->index + 1);
  if (r.affinity() != here) r.object().note_affinity(here);
}

bool has_one_reference(const void* key) {
  // acquire: what the children did, with remove_references
  return (static_cast<const std::atomic<std::uint32_t>*>(key)->load(std::memory_order_acquire) &
          ~classic_record::kAwaited) <= 1;
}

void run_until_one_reference(worker& w, classic_record& waiting) {
  while (waiting.references() > 1) {
    // With a lock held, wait_until has something to say.
    task_base* const t = CORBEL_LIKELY(held_locks == 0) ? w.tasks->pop() : nullptr;
    if (t != nullptr) {
      if (CORBEL_LIKELY(t->context == w.context)) {
        run_task(w, t);
      } else {
        run_any(w, t);
      }
      continue;
    }
    // relaxed: who takes the last reference but one reads this, or has taken it before
    waiting.count.fetch_or(classic_record::kAwaited, std::memory_order_relaxed);
    wait_until(w, &waiting.count, &has_one_reference);
    return;
  }
}

// While a thread waits in a group that is not the one it is in.
class GroupUse {
 public:
  GroupUse(worker& w, const classic_record& waiting)
      : worker_(w),
        context_((waiting.bits & classic_record::kExplicit) != 0 && waiting.context != w.context
                     ? context_access::context(*waiting.context)
                     : nullptr),
        above_(context_ != nullptr ? context_access::link(*context_, w) : nullptr) {}
  ~GroupUse() {
    if (above_ != nullptr) context_access::unlink(*context_, worker_, *above_);
  }
  GroupUse(const GroupUse&) = delete;
  GroupUse& operator=(const GroupUse&) = delete;

 private:
  worker& worker_;
  task_group_context* const context_;
  context_node* const above_;
};

}  // namespace

task_base* run_classic(task_base* self, worker& w, bool cancelled) {
  classic_record* const r = static_cast<classic_record*>(self);
  if (CORBEL_UNLIKELY(w.arrived == self)) note_arrival(static_cast<Thread&>(w), *r);
  if (CORBEL_UNLIKELY(w.trace != nullptr)) return run_chain<true>(w, r, cancelled);
  return run_chain<false>(w, r, cancelled);
}

void wait_classic(worker& w, classic_record& waiting, classic_record* first) {
  context_node& group = *waiting.context;
  context_node* const outer = w.context;
  const bool concurrent = (waiting.bits & classic_record::kConcurrent) != 0;
  {
    GroupUse use(w, waiting);
    classic_record* const outer_awaited = w.classic.awaited;
    if (w.classic.running == &waiting) waiting.set_state(classic_record::kExecuting);
    // Of several waits none has the reference for itself.
    w.classic.awaited = concurrent ? nullptr : &waiting;
    if (first != nullptr) {
      if (CORBEL_UNLIKELY(w.trace != nullptr ||
                          sched::needs_floating_point(static_cast<Thread&>(w), *first->context))) {
        run_any(w, first);
      } else {
        w.context = first->context;
        run_chain<false>(w, first, w.is_cancelled(*first->context));
        w.context = outer;
      }
    }
    run_until_one_reference(w, waiting);
    w.classic.awaited = outer_awaited;
    // relaxed: the only reference is the wait's
    if (!concurrent) waiting.count.store(0, std::memory_order_relaxed);
  }
  if (CORBEL_UNLIKELY(ClassicHome::is_outermost_wait(w, group))) {
    ClassicHome::end_outermost_wait(static_cast<Thread&>(w));
  } else if (CORBEL_UNLIKELY(group.has_failed())) {
    rethrow_copy(group);
  }
}

void spawn_with_affinity(worker& w, classic_record& r) {
  Thread& t = static_cast<Thread&>(w);
  const unsigned place = r.affinity() - 1U;
  if (place == t.slot->index || place >= t.arena->slot_count()) {
    spawn(w, r);
  } else {
    sched::mail(t, r, place);
  }
}

void enqueue_classic(worker& w, classic_record& r, arena_handle* arena) {
  Thread& t = static_cast<Thread&>(w);
  r.set_state(classic_record::kReady);
  r.bits |= classic_record::kEnqueued;
  // The algorithm around it may be over before the task begins.
  if ((r.bits & classic_record::kBorrowed) != 0) r.set_group(ClassicHome::of(t).group(), 0);
  if (arena != nullptr) {
    enqueue_in(*arena, r);
  } else {
    t.arena->enqueue(r);
  }
}

std::uint32_t state_of_classic(const classic_record& r) noexcept {
  const worker* const w = this_worker;
  if (w == nullptr || w->classic.running != &r) return r.state();
  switch (w->classic.after) {
    case classic_position::kEnds:
      return classic_record::kExecuting;
    case classic_position::kKept:
      return classic_record::kAllocated;
    case classic_position::kReexecutes:
      return classic_record::kReexecute;
    case classic_position::kContinuesSafely:
      break;
  }
  return (r.bits & classic_record::kToEnqueue) != 0 ? classic_record::kRecycleToEnqueue
                                                    : classic_record::kRecycle;
}

void set_root_context(worker& w, classic_record& r) {
  const classic_record* const running = w.classic.running;
  if (running != nullptr && running->context == w.context) {
    r.take_group_of(*running);
  } else {
    ClassicHome::set_group_here(static_cast<Thread&>(w), r);
  }
}

task& current_classic(worker& w) {
  classic_record* const running = w.classic.running;
  if (running != nullptr && running->context == w.context) return running->object();
  return ClassicHome::of(static_cast<Thread&>(w)).stand_in();
}

}  // namespace corbel::detail
