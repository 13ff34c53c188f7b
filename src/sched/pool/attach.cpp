// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/attach.hpp"
#include "base/thread_variable.hpp"
#include "sched/pool/debug_layout.hpp"

#include <utility>

#include "os/os.hpp"
#include "sched/core/other_stacks.hpp"
#include "sched/core/signal_mode.hpp"
#include "sched/core/thread_records.hpp"
#include "sched/core/width.hpp"
#include "sched/pool/controls.hpp"
#include "sched/pool/figures.hpp"
#include "sched/pool/program_threads.hpp"
#include "sched/pool/thread_pool.hpp"
#include "sched/trace/trace.hpp"
#include "sched/trace/trace_output.hpp"

namespace corbel {
namespace sched {
namespace {

// The width that task_scheduler_init asked for; 0: none.
CORBEL_THREAD_VARIABLE(unsigned, implicit_width) = 0;

// The record of a thread that has been detached and not ended: what the program has of its classic
// tasks, task::self() first, stays the thread's own.
CORBEL_THREAD_VARIABLE(Thread*, kept_record) = nullptr;

// Guards set_up(), which runs before the first thread exists. If the process forks during the call,
// the child makes it again.
constinit os::OnceCall set_up_once;

// Keeps the debug layout in programs that are linked with the static library.
__attribute__((used, retain)) constinit const SchedulerLayout* const kLayout = &debug_layout;

void set_up() noexcept {
  if (thread_limit() == 0) controls().begin();
  provide_figures();
  const bool traced = trace::set_up();
  if (!os::enable_process_barrier() || traced) {
    signal_always.store(true, std::memory_order_relaxed);  // relaxed: no other thread exists
  }
}

// For a thread that ends where it may not wait. What its suspended tasks use stays: its
// stacks and slot, which resume() may still touch.
void abandon_stacks(Thread& t) {
  detail::own_thread_data() = nullptr;
  trace::end_thread(t);
  program_threads.detach();
}

enum class MayWait : bool { kNo, kYes };

void detach_thread(MayWait may_wait) {
  Thread* const t = Thread::current_or_null();
  if (t == nullptr || t->is_worker) return;
  if (may_wait == MayWait::kNo && t->fibers != nullptr && has_other_stacks(*t->fibers)) {
    return abandon_stacks(*t);
  }
  // A thread that the program ends inside a task does not give its slot back.
  if (t->arena != nullptr) {
    // No other thread can continue the tasks that were suspended here.
    if (t->fibers != nullptr) finish_stacks_in(*t->fibers, *t->slot);
    t->arena->observe_exit(*t);
    observers.leave(*t, t->seen_global);
    t->arena->leave(*t);
  }
  if (t->implicit_arena != nullptr) thread_pool.release(*t->implicit_arena);
  detail::own_thread_data() = nullptr;
  trace::end_thread(*t);
  clear_thread(*t);
  kept_record = t;
  program_threads.detach();
}

void end_thread(void*) {
  detach_thread(os::kExitHooksMayWait ? MayWait::kYes : MayWait::kNo);
  if (kept_record != nullptr) unmake_thread(*kept_record);
  kept_record = nullptr;
  if (program_threads.remove_this()) thread_pool.end_with_program();
}

constinit os::ThreadExit thread_exit{end_thread};

// False if the system has no room for a hook, or has called it for the last time: then the arena
// leaks when the thread ends.
bool hook_thread() {
  if (!thread_exit.hook(&thread_exit)) return false;
  program_threads.add_this();
  return true;
}

// The main thread counts from the beginning, since other threads may come and go. If another thread
// loads the library, the main thread counts once it uses the library.
__attribute__((constructor)) void hook_main_thread() {
  if (os::is_main_thread(os::thread_id())) hook_thread();
}

// The arena in which the thread works unless the program says otherwise.
Arena& implicit_arena(Thread& t) {
  if (t.implicit_arena == nullptr) {
    ArenaPlan plan;
    plan.width = implicit_width != 0 ? implicit_width : default_width();
    t.implicit_arena = &thread_pool.make_arena(plan);
  }
  return *t.implicit_arena;
}

}  // namespace

void restart_thread(unsigned width) {
  detach_thread(MayWait::kYes);
  implicit_width = width;
}

}  // namespace sched

namespace detail {

thread_data& attach_thread() {
  sched::set_up_once.run(sched::set_up);
  sched::Thread*& kept_record = sched::kept_record;
  sched::Thread* const kept = std::exchange(kept_record, nullptr);
  sched::Thread& t = sched::make_thread(kept);
  t.system_id = os::thread_id();
  try {
    sched::trace::begin_thread(t);
    sched::implicit_arena(t).enter(t, sched::Arena::As::kCaller);
  } catch (...) {
    sched::trace::end_thread(t);
    if (kept == nullptr) {
      sched::unmake_thread(t);
    } else {
      sched::clear_thread(t);
      sched::kept_record = kept;
    }
    throw;
  }
  own_thread_data() = &t;
  // A thread whose end goes unnoticed counts for good, as finalize() must not succeed while it
  // works. One whose hooks are over has little left to do.
  if (sched::hook_thread() || !os::ThreadExit::is_over()) sched::program_threads.attach();
  sched::observers.enter(t, t.seen_global);
  return t;
}

}  // namespace detail
}  // namespace corbel
