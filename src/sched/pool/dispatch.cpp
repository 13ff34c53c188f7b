// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/dispatch.hpp"

#include <new>

#include <corbel/detail/flag.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/held_locks.hpp>

#include "os/os.hpp"
#include "sched/arena/arena.hpp"
#include "sched/arena/isolation.hpp"
#include "sched/core/floating_point.hpp"
#include "sched/core/other_stacks.hpp"
#include "sched/core/parked_threads.hpp"
#include "sched/core/signal_mode.hpp"
#include "sched/pool/rest.hpp"
#include "sched/pool/spin.hpp"
#include "sched/trace/trace.hpp"

namespace corbel {
namespace sched {

// ---- running ------------------------------------------------------------------------------------

void run_found(Thread& t, const FoundTask& found) {
  Observers& of_arena = t.arena->observers();
  if (of_arena.has_newer(t.slot->seen)) of_arena.enter(t, t.slot->seen);
  if (observers.has_newer(t.seen_global)) observers.enter(t, t.seen_global);
  t.arrived = found.task;
  if (found.isolation == t.isolation) {
    detail::run_any(t, found.task);
  } else {
    IsolationGuard scope(t, found.isolation);
    detail::run_any(t, found.task);
    drain(t);
  }
  t.arrived = nullptr;
}

void drain(Thread& t) {
  while (task_base* const task = t.tasks->pop()) detail::run_any(t, task);
}

void mail(Thread& t, task_base& task, unsigned slot) {
  try {
    t.arena->mail({&task, t.isolation}, slot);
  } catch (const std::bad_alloc&) {
    detail::spawn(t, task);
  }
}

// ---- waiting ------------------------------------------------------------------------------------

namespace {

// In programs that count their locks (CORBEL_USE_DEBUG): a thread that waits here while it holds a
// lock may run a task that wants the same lock.
void warn_of_held_lock() {
  static constinit std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;  // relaxed: a flag alone
  constexpr char kWarning[] =
      "corbel: a thread waits for tasks while it holds a lock, and may run others meanwhile that "
      "want the same lock; call this_task_arena::isolate under the lock, or give the lock back "
      "before (said once)\n";
  os::write_error(kWarning, sizeof kWarning - 1);
}

// Whether more than half of the stack that the thread is on is used. False on a stack that the
// library does not know, as of a program's own coroutine.
bool is_deep(Thread& t, const void* frame) {
  if (!t.knows_stack) {
    t.stack = os::own_stack();
    t.knows_stack = true;
  }
  const auto here = reinterpret_cast<std::uintptr_t>(frame);
  return here >= t.stack.low && here < t.stack.low + (t.stack.high - t.stack.low) / 2;
}

// is_deep, except that it does not look, which takes the main thread a while the first time, as
// long as the frame is near that of the thread's first task.
bool may_be_deep(Thread& t, const void* frame) {
  constexpr std::uintptr_t kNear = 16 << 10;
  const auto here = reinterpret_cast<std::uintptr_t>(frame);
  if (t.first_frame == 0) t.first_frame = here;
  if (CORBEL_LIKELY(t.first_frame - here + kNear < 2 * kNear)) return false;
  return is_deep(t, frame);
}

// Tasks could nest without end, each in a wait of the one before. So a wait that is deep in its
// stack leaves the tasks of others alone while it polls. If the wait has not ended by then, perhaps
// all threads wait like that, and it must not leave work undone for good: it runs the task on a new
// stack. The thread's own tasks it always runs, since perhaps no other thread can, if it is deep on
// a new stack (run_any).
class Wait {
 public:
  Wait(Thread& t, const void* key, bool (*done)(const void*), bool any_key)
      : thread_(t), key_(key), done_(done), any_key_(any_key) {}

  void run() {
    const trace::ClockPause pause(thread_, trace::Kind::kWait);
    if (detail::own_held_locks() != 0) warn_of_held_lock();
    // The outermost wait may take a task wherever it is; those in that task look again.
    is_deep_ = (thread_.waits != 0 || thread_.arena_scope != nullptr) &&
               is_deep(thread_, __builtin_frame_address(0));
    takes_foreign_ = !is_deep_;
    ++thread_.waits;
    while (!done_(key_)) {
      if (task_base* const task = thread_.tasks->pop()) {
        detail::run_any(thread_, task);
      } else if (const FoundTask found = find()) {
        chain_if_woken();
        spin_.begin_run();
        run(found);
        spin_.end_run();
      } else if (another_stack_is_ready()) {
        chain_if_woken();
        run_ready_stack(*thread_.fibers, key_, done_);
      } else if (spin_.once_more()) {
        continue;
      } else if (!takes_foreign_) {
        takes_foreign_ = true;
        continue;
      } else {
        park();
        continue;
      }
      spin_.reset();
      takes_foreign_ = !is_deep_;
    }
    chain_if_woken();
    --thread_.waits;
    if (thread_.fibers != nullptr && is_in_no_task(thread_) && !is_for_stacks()) {
      finish_waits(*thread_.fibers);
    }
  }

 private:
  // Whether this is a spare stack's wait for another stack to become ready.
  bool is_for_stacks() const { return key_ == thread_.fibers; }

  bool another_stack_is_ready() const {
    return thread_.fibers != nullptr && !is_for_stacks() && has_ready_stack(*thread_.fibers);
  }

  Rest rest() const {
    return thread_.fibers != nullptr && has_other_stacks(*thread_.fibers) ? Rest::kSuspended
                                                                          : Rest::kWaiting;
  }

  FoundTask find() {
    return takes_foreign_ ? thread_.arena->find(thread_, spin_.search()) : FoundTask();
  }

  void run(const FoundTask& found) {
    struct Call {
      Thread& thread;
      const FoundTask& found;
    } call{thread_, found};
    const auto run_it = [](void* c) {
      run_found(static_cast<Call*>(c)->thread, static_cast<Call*>(c)->found);
    };
    // Without memory for a stack, the rest of this one must do.
    if (!is_deep_ || !call_on_new_stack(thread_, run_it, &call)) run_found(thread_, found);
  }

  void park() {
    Arena& arena = *thread_.arena;
    bool rests = false;
    woken_ = arena.wake_flag().park(
        parked_threads, thread_, key_, any_key_ || thread_.fibers != nullptr, [&] {
          if (done_(key_) || arena.has_work_for(thread_) || another_stack_is_ready()) return true;
          rests = thread_.is_counted;
          if (rests) begin_rest(rest());
          return false;
        });
    if (rests) end_rest(rest());
    spin_.reset();
  }

  // The thread was woken for one task, but there may be more by now.
  void chain_if_woken() {
    if (!woken_) return;
    woken_ = false;
    thread_.arena->chain_wake_up();
  }

  Thread& thread_;
  const void* const key_;
  bool (*const done_)(const void*);
  const bool any_key_;
  Spin spin_;
  bool woken_ = false;
  bool is_deep_ = false;
  bool takes_foreign_ = true;  // now
};

}  // namespace

void wait_for_any(Thread& t, const void* key, bool (*done)(const void*)) {
  Wait(t, key, done, /*any_key=*/true).run();
}

}  // namespace sched

namespace detail {

void run_task(thread_data& thread, task_base* task) noexcept {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) {
    return sched::trace::run_task(static_cast<sched::Thread&>(thread), task);
  }
  run_untraced(thread, task);
}

namespace {

void run_here(sched::Thread& t, task_base* task) {
  if (sched::needs_floating_point(t, *task->context)) {
    const sched::FloatingPointScope scope(t, *task->context, t.arena->floating_point());
    run_task(t, task);
  } else {
    run_task(t, task);
  }
}

}  // namespace

void run_any(thread_data& thread, task_base* task) noexcept {
  sched::Thread& t = static_cast<sched::Thread&>(thread);
  if (CORBEL_UNLIKELY(sched::may_be_deep(t, __builtin_frame_address(0)))) {
    struct Call {
      sched::Thread& thread;
      task_base* task;
    } call{t, task};
    const auto run_it = [](void* c) {
      run_here(static_cast<Call*>(c)->thread, static_cast<Call*>(c)->task);
    };
    if (sched::call_on_new_stack(t, run_it, &call)) return;
  }
  run_here(t, task);
}

void wait_until(thread_data& thread, const void* key, bool (*done)(const void*)) noexcept {
  const call_trace trace(thread);
  sched::Wait(static_cast<sched::Thread&>(thread), key, done, /*any_key=*/false).run();
  trace_join(thread, key);
}

void join_slow(thread_data& thread, task_base* popped, fork_base& task) noexcept {
  if (popped == nullptr) popped = thread.tasks->pop();
  sched::trace::Join join(static_cast<sched::Thread&>(thread), task);
  if (popped != nullptr) run_any(thread, popped);
  wait_for_flag(thread, task.done);  // set by (1) of fork_task::execute, in the thief
}

void signal_new_task(thread_data& thread) noexcept {
  sched::Thread& t = static_cast<sched::Thread&>(thread);
  if (t.trace != nullptr) sched::trace::note_push(t);
  if (sched::always_signals()) os::process_barrier();  // orders the push before take()
  t.arena->signal_push(t);
}

void signal_fork(thread_data& thread) noexcept {
  signal_new_task(thread);
  sched::trace::note_fork(static_cast<sched::Thread&>(thread));
}

void notify(const void* key) noexcept { sched::parked_threads.unpark_waiters(key); }

}  // namespace detail
}  // namespace corbel
