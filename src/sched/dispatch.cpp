// SPDX-License-Identifier: Apache-2.0
#include "sched/dispatch.hpp"

#include <new>

#include <corbel/detail/flag.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/held_locks.hpp>

#include "os/os.hpp"
#include "sched/attach.hpp"
#include "sched/fibers.hpp"
#include "sched/floating_point.hpp"
#include "sched/pool.hpp"
#include "sched/sleepers.hpp"
#include "sched/spin.hpp"
#include "sched/trace.hpp"

namespace corbel {
namespace sched {

// ---- regions ------------------------------------------------------------------------------------

namespace {

RegionDeque* take_region_deque(Slot& slot, Region region) {
  sync::LockGuard guard(slot.regions_lock);
  // The one that the thread has left with tasks of the same region in it, else an empty one.
  RegionDeque* empty = nullptr;
  RegionDeque* r = slot.regions;
  for (; r != nullptr; r = r->next) {
    if (r->in_use) continue;
    if (r->region == region) break;
    if (empty == nullptr && r->tasks.seems_empty()) empty = r;
  }
  if (r == nullptr) r = empty != nullptr ? empty : slot.free_region_deque();
  if (r == nullptr) throw std::bad_alloc();
  r->region = region;
  r->in_use = true;
  return r;
}

void give_region_deque(Slot& slot, RegionDeque& r) {
  sync::LockGuard guard(slot.regions_lock);
  r.in_use = false;
}

}  // namespace

Region new_region() {
  static constinit std::atomic<Region> last{kNoRegion};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only a number
}

RegionScope::RegionScope(Thread& t, Region region)
    : thread_(t),
      outer_tasks_(t.tasks),
      outer_region_(t.region),
      outer_held_locks_(detail::held_locks) {
  if (region == kNoRegion) {
    t.tasks = &t.slot->tasks;
  } else {
    deque_ = take_region_deque(*t.slot, region);
    t.tasks = &deque_->tasks;
  }
  t.region = region;
  detail::held_locks = 0;  // which the tasks of the region may want, but no others run here
}

RegionScope::~RegionScope() {
  thread_.tasks = outer_tasks_;
  thread_.region = outer_region_;
  detail::held_locks += outer_held_locks_;
  if (deque_ != nullptr) give_region_deque(*thread_.slot, *deque_);
}

// ---- running ------------------------------------------------------------------------------------

void run_found(Thread& t, const Found& found) {
  Observers& of_arena = t.arena->observers();
  if (of_arena.has_newer(t.slot->seen)) of_arena.enter(t, t.slot->seen);
  if (observers.has_newer(t.seen_of_all)) observers.enter(t, t.seen_of_all);
  t.arrived = found.task;
  if (found.region == t.region) {
    detail::run_any(t, found.task);
  } else {
    RegionScope scope(t, found.region);
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
    t.arena->mail({&task, t.region}, slot);
  } catch (const std::bad_alloc&) {
    detail::spawn(t, task);
  }
}

// ---- waiting ------------------------------------------------------------------------------------

namespace {

// In programs that count their locks (CORBEL_USE_DEBUG): what waits here under one may run a task
// that wants the same.
void warn_of_held_lock() {
  static constinit std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;  // relaxed: nothing but the flag
  constexpr char kWarning[] =
      "corbel: a thread waits for tasks while it holds a lock, and may run others meanwhile that "
      "want the same lock; call this_task_arena::isolate under the lock, or give the lock back "
      "before (said once)\n";
  os::write_error(kWarning, sizeof kWarning - 1);
}

class Wait {
 public:
  Wait(Thread& t, const void* key, bool (*done)(const void*), bool any_key)
      : thread_(t), key_(key), done_(done), any_key_(any_key) {}

  void run() {
    const trace::Rest rest(thread_, trace::Kind::kWait);
    if (detail::held_locks != 0) warn_of_held_lock();
    ++thread_.waits;
    while (!done_(key_)) {
      if (task_base* const task = thread_.tasks->pop()) {
        detail::run_any(thread_, task);
      } else if (const Found found = thread_.arena->find(thread_, spin_.is_long())) {
        pass_on_if_woken();
        run_found(thread_, found);
      } else if (another_stack_is_ready()) {
        pass_on_if_woken();
        thread_.fibers->run_ready(key_, done_);
      } else if (spin_.once_more()) {
        continue;
      } else {
        sleep();
        continue;
      }
      spin_.reset();
    }
    pass_on_if_woken();
    --thread_.waits;
    if (thread_.fibers != nullptr && is_in_no_task(thread_) && !is_for_stacks()) {
      thread_.fibers->let_waits_end();
    }
  }

 private:
  // Whether this is the wait for another stack itself.
  bool is_for_stacks() const { return key_ == thread_.fibers; }

  bool another_stack_is_ready() const {
    return thread_.fibers != nullptr && !is_for_stacks() && thread_.fibers->has_ready();
  }

  void sleep() {
    Arena& arena = *thread_.arena;
    woken_ = arena.bell().sleep(
        sleepers, thread_, key_, any_key_ || thread_.fibers != nullptr,
        [&] { return done_(key_) || arena.has_work_for(thread_) || another_stack_is_ready(); });
    spin_.reset();
  }

  // Who rang meant somebody who takes the task; that may be more than one by now.
  void pass_on_if_woken() {
    if (!woken_) return;
    woken_ = false;
    thread_.arena->pass_on();
  }

  Thread& thread_;
  const void* const key_;
  bool (*const done_)(const void*);
  const bool any_key_;
  Spin spin_;
  bool woken_ = false;
};

}  // namespace

void wait_for_any(Thread& t, const void* key, bool (*done)(const void*)) {
  Wait(t, key, done, /*any_key=*/true).run();
}

}  // namespace sched

namespace detail {

void run_task(worker& w, task_base* task) noexcept {
  if (CORBEL_UNLIKELY(w.trace != nullptr)) {
    return sched::trace::run_task(static_cast<sched::Thread&>(w), task);
  }
  run_untraced(w, task);
}

void run_any(worker& w, task_base* task) noexcept {
  sched::Thread& t = static_cast<sched::Thread&>(w);
  if (sched::needs_floating_point(t, *task->context)) {
    const sched::FloatingPointScope scope(t, *task->context);
    run_task(w, task);
  } else {
    run_task(w, task);
  }
}

void wait_until(worker& w, const void* key, bool (*done)(const void*)) noexcept {
  sched::Wait(static_cast<sched::Thread&>(w), key, done, /*any_key=*/false).run();
}

void join_slow(worker& w, task_base* popped, fork_base& task) noexcept {
  if (popped == nullptr) popped = w.tasks->pop();
  sched::trace::Join join(static_cast<sched::Thread&>(w), task);
  if (popped != nullptr) run_any(w, popped);
  wait_for_flag(w, task.done);  // set by (1) of fork_task
}

void ring(worker& w) noexcept {
  sched::Thread& t = static_cast<sched::Thread&>(w);
  if (sched::pool.always_rings()) os::process_barrier();  // the push, before the bell
  if (t.arena->bell().take()) t.arena->ring();
}

void ring_fork(worker& w) noexcept {
  ring(w);
  sched::trace::note_fork(static_cast<sched::Thread&>(w));
}

void notify(const void* key) noexcept { sched::sleepers.wake(key); }

}  // namespace detail
}  // namespace corbel
