// SPDX-License-Identifier: Apache-2.0
// Running classic tasks and counting their references.
//
// Counting down without read-modify-writes. A thread that changes a task's count owns a counted
// reference: that of a child that has not ended, or that of the wait. So if the count equals the
// number of references that this thread owns, no other thread will change it, and a plain store is
// enough. (A count that is read early may be too high, never too low: other threads give their
// references back later, and only an owner adds one.) A thread often owns more than one:
//   - the wait's, if the wait is further down on its own stack (classic_position::awaited);
//   - those of children that have ended in this thread and are not subtracted yet. The delay goes
//     unnoticed as long as the count cannot reach its end anyway: only this thread's own wait looks
//     at it;
//   - that of a sibling that this thread has just popped from its deque, where no thief can get it.
// A fork that no thread steals from thus costs no atomic read-modify-write.
#include <new>

#include <corbel/classic/task.hpp>
#include <corbel/detail/held_locks.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/task_arena.hpp>

#include "sched/arena/arena.hpp"
#include "sched/classic/classic_state.hpp"
#include "sched/core/floating_point.hpp"
#include "sched/core/program_runtime.hpp"
#include "sched/pool/dispatch.hpp"

namespace corbel::detail {

using classic::ClassicState;
using classic::OwnGroup;
using sched::Thread;

namespace {

// The loop of run_chain inlines everything but the CORBEL_NOINLINE functions, so that its variables
// stay in registers.

// Spawns `ready`; `next` is run next.
CORBEL_NOINLINE classic_record* spawn_ready(thread_data& thread, classic_record& ready,
                                            classic_record* next) {
  ready.set_state(classic_record::kReady);
  try {
    spawn(thread, ready);
  } catch (const std::bad_alloc&) {
    run_any(thread, &ready);  // the error could not be reported
  }
  return next;
}

// `ready` has been recycled to be enqueued, and its children have ended.
CORBEL_NOINLINE classic_record* enqueue_ready(thread_data& thread, classic_record& ready,
                                              classic_record* next) {
  ready.bits &= ~std::uint32_t(classic_record::kToEnqueue);
  try {
    enqueue_classic(thread, ready);
    return next;
  } catch (const std::bad_alloc&) {
    return next == nullptr ? &ready : spawn_ready(thread, ready, next);
  }
}

// `ready` may begin. Returns the task to run next: one of the two.
template <bool kTraced>
inline classic_record* begin_also(thread_data& thread, classic_record& ready,
                                  classic_record* next) {
  if (kTraced) join_ends(thread, &ready.count);
  if (CORBEL_UNLIKELY((ready.bits & classic_record::kToEnqueue) != 0)) {
    return enqueue_ready(thread, ready, next);
  }
  return CORBEL_LIKELY(next == nullptr) ? &ready : spawn_ready(thread, ready, next);
}

// Undoes a pop that returned a task of no use here.
CORBEL_NOINLINE classic_record* push_again(thread_data& thread, task_base* t) {
  if (t != nullptr) spawn(thread, *t);
  return nullptr;
}

// Pops the task that this thread spawned last if it is a classic one and a child of `parent`.
inline classic_record* pop_child_of(thread_data& thread, const classic_record& parent,
                                    task_base::function kind) {
  task_base* const t = thread.tasks->pop();
  if (CORBEL_LIKELY(t != nullptr && t->run == kind)) {
    classic_record* const r = static_cast<classic_record*>(t);
    if (CORBEL_LIKELY(r->parent == &parent)) return r;
  }
  return push_again(thread, t);
}

template <bool kTraced>
CORBEL_NOINLINE classic_record* remove_child(thread_data& thread, classic_record& parent,
                                             classic_record* next) {
  return parent.remove_references(thread, 1) == 0 ? begin_also<kTraced>(thread, parent, next)
                                                  : next;
}

// A child of `parent` has ended. This thread does not wait for `parent`.
template <bool kTraced>
inline classic_record* end_child(thread_data& thread, classic_record& parent, classic_record* next,
                                 task_base::function kind) {
  const std::uint32_t references = parent.references();
  if (references == 1) {
    // relaxed: the only reference is that of the child that has ended; kAwaited is not set, since a
    // wait owns a reference, too
    parent.count.store(0, std::memory_order_relaxed);
    return begin_also<kTraced>(thread, parent, next);
  }
  if (CORBEL_LIKELY(!kTraced && references == 2 && next == nullptr)) {
    if (classic_record* const sibling = pop_child_of(thread, parent, kind)) {
      parent.count.store(1,
                         std::memory_order_relaxed);  // relaxed: this thread owns both references
      return sibling;
    }
  }
  return remove_child<kTraced>(thread, parent, next);
}

// Subtracts `ended` children of the task for which this thread waits.
void count_ended(thread_data& thread, classic_record& awaited, std::uint32_t ended) {
  // references() acquires what the children did in other threads
  if (awaited.references() == ended + 1) {
    // relaxed, both: this thread owns all references that are left
    const std::uint32_t count = awaited.count.load(std::memory_order_relaxed);
    awaited.count.store(count - ended, std::memory_order_relaxed);
  } else {
    awaited.remove_references(thread, ended);
  }
}

// Called when a recycled task's execute() has returned. If the task is kept, another thread may
// have it by now.
template <bool kTraced>
inline classic_record* end_recycled(thread_data& thread, classic_record& r, classic_record* next) {
  const classic_position::after_type after = thread.classic.after;
  thread.classic.after = classic_position::kEnds;
  if (CORBEL_LIKELY(after == classic_position::kKept)) return next;
  if (after == classic_position::kReexecutes) return begin_also<kTraced>(thread, r, next);
  if (kTraced) record_end(thread, &r.count);
  return remove_child<kTraced>(thread, r, next);
}

// Runs a task that follows one of another group, if either group has floating-point settings.
// Returns whether it did.
CORBEL_NOINLINE bool run_with_settings(thread_data& thread, classic_record& r) {
  if (!sched::needs_floating_point(static_cast<Thread&>(thread), *r.context)) return false;
  run_any(thread, &r);
  return true;
}

// Runs the task and those that follow it by bypass. A traced thread records each task, so there it
// runs only the one and returns the next.
template <bool kTraced>
classic_record* run_chain(thread_data& thread, classic_record* r, bool cancelled) {
  const task_base::function kind = r->run;
  const classic_position outer = thread.classic;
  classic_record* const awaited = outer.awaited;
  std::uint32_t ended = 0;  // children of `awaited` that are still counted
  thread.classic.after = classic_position::kEnds;
  do {
    thread.classic.running = r;
    task* t = nullptr;
    if (CORBEL_LIKELY(!cancelled)) {
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
      std::exception_ptr error = sched::exception_of([&] { t = r->object().execute(); });
      if (error != nullptr) keep_exception(*thread.context, std::move(error));  // r: see below
#else
      try {
        t = r->object().execute();
      } catch (...) {
        capture_exception(*thread.context);  // another thread may have r by now
      }
#endif
    }
    classic_record* next = t == nullptr ? nullptr : &classic_record::of(*t);
    if (thread.classic.after == classic_position::kEnds) {
      classic_record* const parent = r->parent;
      r->object().~task();
      deallocate_record(thread, r);
      if (kTraced && parent != nullptr) record_end(thread, &parent->count);
      if (parent == nullptr) {
      } else if (parent != awaited) {
        next = end_child<kTraced>(thread, *parent, next, kind);
      } else {
        ++ended;
        if (!kTraced && next == nullptr && awaited->references() != ended + 1) {
          next = pop_child_of(thread, *awaited, kind);
        }
      }
    } else {
      next = end_recycled<kTraced>(thread, *r, next);
    }
    r = next;
    if (r == nullptr) break;
    if (CORBEL_UNLIKELY(r->context != thread.context)) {
      if (run_with_settings(thread, *r)) {
        r = nullptr;
        break;
      }
      thread.context = r->context;
    }
    if (kTraced) break;
    cancelled = thread.is_cancelled(*r->context);
  } while (true);
  if (ended != 0) count_ended(thread, *awaited, ended);
  thread.classic = outer;
  return r;
}

task_base* run_here(thread_data& thread, classic_record& r, bool cancelled) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) return run_chain<true>(thread, &r, cancelled);
  return run_chain<false>(thread, &r, cancelled);
}

// The task was stolen, or came from a mailbox or the arena's queue.
CORBEL_NOINLINE task_base* run_arrived(Thread& t, classic_record& r, bool cancelled) {
  t.arrived = nullptr;
  if ((r.bits & classic_record::kEnqueued) == 0) {
    r.bits |= classic_record::kStolen;
    const auto here = task::affinity_id(t.slot->index + 1);
    if (r.affinity() != here) r.object().note_affinity(here);
    return run_here(t, r, cancelled);
  }
  r.bits &= ~std::uint32_t(classic_record::kEnqueued);
  if (!r.is_in_own_group()) return run_here(t, r, cancelled);
  OwnGroup& group = OwnGroup::of(*r.context);
  task_base* const next = run_here(t, r, cancelled);
  group.end_enqueued();
  return next;
}

bool has_one_reference(const void* key) {
  // (1) acquire: sees what the children did before remove_references()
  return (static_cast<const std::atomic<std::uint32_t>*>(key)->load(std::memory_order_acquire) &
          ~classic_record::kAwaited) <= 1;
}

void run_until_one_reference(thread_data& thread, classic_record& waiting) {
  while (waiting.references() > 1) {
    // wait_until warns of a held lock.
    task_base* const t = CORBEL_LIKELY(own_held_locks() == 0) ? thread.tasks->pop() : nullptr;
    if (t != nullptr) {
      if (CORBEL_LIKELY(t->context == thread.context)) {
        run_task(thread, t);
      } else {
        run_any(thread, t);
      }
      continue;
    }
    // relaxed: the thread that removes the last reference but one does so by a read-modify-write.
    // It is after this one and sees the bit, or before it, and wait_until does not sleep.
    waiting.count.fetch_or(classic_record::kAwaited, std::memory_order_relaxed);
    wait_until(thread, &waiting.count, &has_one_reference);
    return;
  }
}

// Links the group that a thread waits in to the one that it is in, if they differ.
class GroupUse {
 public:
  GroupUse(thread_data& thread, const classic_record& waiting)
      : thread_(thread),
        context_((waiting.bits & classic_record::kExplicit) != 0 &&
                         waiting.context != thread.context
                     ? context_access::context(*waiting.context)
                     : nullptr),
        above_(context_ != nullptr ? context_access::link(*context_, thread) : nullptr) {}
  ~GroupUse() {
    if (above_ != nullptr) context_access::unlink(*context_, thread_, *above_);
  }
  GroupUse(const GroupUse&) = delete;
  GroupUse& operator=(const GroupUse&) = delete;

 private:
  thread_data& thread_;
  task_group_context* const context_;
  context_node* const above_;
};

}  // namespace

task_base* run_classic(task_base* self, thread_data& thread, bool cancelled) {
  classic_record* const r = static_cast<classic_record*>(self);
  if (CORBEL_UNLIKELY(thread.arrived == self)) {
    return run_arrived(static_cast<Thread&>(thread), *r, cancelled);
  }
  return run_here(thread, *r, cancelled);
}

void wait_classic(thread_data& thread, classic_record& waiting, classic_record* first) {
  const call_trace trace(thread);
  context_node& group = *waiting.context;
  context_node* const outer = thread.context;
  const bool concurrent = (waiting.bits & classic_record::kConcurrent) != 0;
  {
    const outermost_call call(thread);
    GroupUse use(thread, waiting);
    classic_record* const outer_awaited = thread.classic.awaited;
    if (thread.classic.running == &waiting) waiting.set_state(classic_record::kExecuting);
    // Several threads may wait; then no wait owns the reference alone.
    thread.classic.awaited = concurrent ? nullptr : &waiting;
    if (first != nullptr) {
      if (CORBEL_UNLIKELY(
              thread.trace != nullptr ||
              sched::needs_floating_point(static_cast<Thread&>(thread), *first->context))) {
        run_any(thread, first);
      } else {
        thread.context = first->context;
        run_chain<false>(thread, first, thread.is_cancelled(*first->context));
        thread.context = outer;
      }
    }
    run_until_one_reference(thread, waiting);
    trace_join(thread, &waiting.count);
    thread.classic.awaited = outer_awaited;
    // relaxed: the wait owns the only reference
    if (!concurrent) waiting.count.store(0, std::memory_order_relaxed);
  }
  if (CORBEL_UNLIKELY(ClassicState::is_outermost_wait(thread, group))) {
    ClassicState::end_outermost_wait(static_cast<Thread&>(thread));
  } else if (CORBEL_UNLIKELY(group.has_failed())) {
    rethrow_copy(group);
  }
}

void spawn_with_affinity(thread_data& thread, classic_record& r) {
  Thread& t = static_cast<Thread&>(thread);
  const unsigned slot = r.affinity() - 1U;
  if (slot == t.slot->index || slot >= t.arena->slot_count()) {
    spawn(thread, r);
  } else {
    sched::mail(t, r, slot);
  }
}

void enqueue_classic(thread_data& thread, classic_record& r, arena_handle* arena) {
  Thread& t = static_cast<Thread&>(thread);
  // The algorithm that the group belongs to may end before the task begins.
  if ((r.bits & classic_record::kBorrowed) != 0) ClassicState::set_lasting_group(t, r);
  const std::uint32_t state = r.state();
  r.set_state(classic_record::kReady);
  r.bits |= classic_record::kEnqueued;
  OwnGroup* const own = r.is_in_own_group() ? &OwnGroup::of(*r.context) : nullptr;
  if (own != nullptr) own->begin_enqueued();
  try {
    if (arena != nullptr) {
      enqueue_in(*arena, r);
    } else {
      t.arena->enqueue(r);
    }
  } catch (...) {
    r.bits &= ~std::uint32_t(classic_record::kEnqueued);
    r.set_state(state);
    if (own != nullptr) own->end_enqueued();
    throw;
  }
}

std::uint32_t state_of_classic(const classic_record& r) noexcept {
  const thread_data* const thread = own_thread_data();
  if (thread == nullptr || thread->classic.running != &r) return r.state();
  switch (thread->classic.after) {
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

void set_root_context(thread_data& thread, classic_record& r) {
  const classic_record* const running = thread.classic.running;
  if (running != nullptr && running->context == thread.context) {
    r.take_group_of(*running);
  } else {
    try {
      ClassicState::set_group_here(static_cast<Thread&>(thread), r);
    } catch (...) {
      deallocate_record(thread, &r);
      throw;
    }
  }
}

task& current_classic(thread_data& thread) {
  classic_record* const running = thread.classic.running;
  if (running != nullptr && running->context == thread.context) return running->object();
  return ClassicState::of(static_cast<Thread&>(thread)).placeholder();
}

}  // namespace corbel::detail
