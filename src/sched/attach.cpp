// SPDX-License-Identifier: Apache-2.0
#include "sched/attach.hpp"

#include <algorithm>
#include <mutex>

#include "os/os.hpp"
#include "sched/cancellations.hpp"
#include "sched/controls.hpp"
#include "sched/fibers.hpp"
#include "sched/pool.hpp"
#include "sched/sleepers.hpp"
#include "sched/trace.hpp"

namespace corbel {
namespace detail {

__thread worker* this_worker = nullptr;

}  // namespace detail

namespace sched {
namespace {

// Threads that have gone, to be used again; see Thread.
constinit sync::Lock unused_lock{kUnused};
constinit Thread* unused = nullptr;

// The wish of task_scheduler_init.
thread_local constinit unsigned implicit_width = 0;
constinit std::once_flag set_up_once;  // as in controls()

// The child's one thread is in an arena that others may be looking through.
void before_fork() {
  controls().lock().lock_for_fork();
  pool.lock().lock_for_fork();
  sleepers.lock().lock_for_fork();
  unused_lock.lock_for_fork();
  observers.lock().lock_another_for_fork();
  pool.each_arena_lock([](sync::Lock& lock) { lock.lock_another_for_fork(); });
}

void after_fork_in_parent() {
  pool.each_arena_lock([](sync::Lock& lock) { lock.unlock_after_fork_in_parent(); });
  observers.lock().unlock_after_fork_in_parent();
  unused_lock.unlock_after_fork_in_parent();
  sleepers.lock().unlock_after_fork_in_parent();
  pool.lock().unlock_after_fork_in_parent();
  controls().lock().unlock_after_fork_in_parent();
}

void after_fork_in_child() {
  pool.each_arena_lock([](sync::Lock& lock) { lock.unlock_after_fork_in_child(); });
  observers.lock().unlock_after_fork_in_child();
  unused_lock.unlock_after_fork_in_child();
  sleepers.lock().unlock_after_fork_in_child();
  pool.lock().unlock_after_fork_in_child();
  controls().lock().unlock_after_fork_in_child();
  trace::stop();
  sleepers.forget_all();
  observers.forget_calls();
  pool.forget_threads(Thread::current_or_null());
}

void set_up() noexcept {
  if (pool.limit() == 0) controls().begin();
  const bool traced = trace::set_up();
  if (!os::enable_process_barrier() || traced) pool.set_always_rings();
}

void detach_thread(void*) {
  Thread* const t = Thread::current_or_null();
  if (t == nullptr || t->is_own) return;
  // Threads that the program ends inside a task leave their place to nobody.
  if (t->arena != nullptr) {
    // Nobody else can go on with the tasks that were suspended here.
    if (t->fibers != nullptr) t->fibers->let_others_leave(*t->slot);
    t->arena->depart(*t);
    observers.leave(*t, t->seen_of_all);
    t->arena->leave(*t);
  }
  if (t->implicit_arena != nullptr) pool.release(*t->implicit_arena);
  detail::this_worker = nullptr;
  unmake_thread(*t);
}

constinit os::ThreadExit thread_exit{detach_thread};

}  // namespace

void hook_forks() { os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child); }

Thread& make_thread() {
  std::call_once(set_up_once, set_up);
  Thread* t = nullptr;
  {
    sync::LockGuard guard(unused_lock);
    t = unused;
    if (t != nullptr) unused = t->next_unused;
  }
  if (t == nullptr) t = new Thread;
  static_cast<detail::worker&>(*t) = detail::worker();
  t->arena = nullptr;
  t->slot = nullptr;
  t->region = kNoRegion;
  t->is_own = false;
  t->has_floating_point = false;
  t->implicit_arena = nullptr;
  t->seen_of_all = 0;
  t->waits = 0;
  t->place = nullptr;
  // relaxed: the thread's own until somebody gets one of its tasks
  t->root.link.store(0, std::memory_order_relaxed);
  t->root.state.store(detail::cancellations.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  t->context = &t->root;
  t->cancellations = &detail::cancellations;
  t->waiting = pool.always_rings() ? &Pool::kRings : &sleepers.waiting();
  static constinit std::atomic<std::uint32_t> seed{0};
  // relaxed: any number will do, but for 0
  t->random = (seed.fetch_add(1, std::memory_order_relaxed) + 1) * 2654435761U;
  return *t;
}

void unmake_thread(Thread& t) {
  delete t.fibers;
  t.fibers = nullptr;
  t.has_stacks = false;
  for (std::size_t c = 0; c < detail::block_cache::kClasses; ++c) {
    while (void* const b = t.blocks.take(c)) {
      detail::deallocate_block(b, (c + 1) * detail::block_cache::kStep);
    }
  }
  sync::LockGuard guard(unused_lock);
  t.next_unused = unused;
  unused = &t;
}

Arena& implicit_arena(Thread& t) {
  if (t.implicit_arena == nullptr) {
    ArenaPlan plan;
    plan.width = implicit_width != 0 ? implicit_width : std::max(pool.limit(), default_width());
    t.implicit_arena = &pool.make_arena(plan);
  }
  return *t.implicit_arena;
}

bool is_in_no_task(const Thread& t) {
  return !t.is_own && t.waits == 0 && t.place == nullptr && t.context == &t.root &&
         t.arena == t.implicit_arena;
}

bool is_outside() {
  const Thread* const t = Thread::current_or_null();
  return t == nullptr || (is_in_no_task(*t) && t->region == kNoRegion);
}

void renew_thread(unsigned width) {
  detach_thread(nullptr);
  implicit_width = width;
}

}  // namespace sched

namespace detail {

worker& attach_thread() {
  sched::Thread& t = sched::make_thread();
  try {
    sched::trace::begin_thread(t);
    sched::implicit_arena(t).enter(t, sched::Arena::As::kCaller);
  } catch (...) {
    sched::unmake_thread(t);
    throw;
  }
  this_worker = &t;
  // Where the system has no room for a hook the arena is lost with the thread.
  sched::thread_exit.hook(&t);
  sched::observers.enter(t, t.seen_of_all);
  return t;
}

}  // namespace detail
}  // namespace corbel
