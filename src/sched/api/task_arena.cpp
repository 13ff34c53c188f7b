// SPDX-License-Identifier: Apache-2.0
#include <corbel/task_arena.hpp>

#include <algorithm>
#include <exception>

#include "sched/api/check_constraints.hpp"
#include "sched/arena/arena.hpp"
#include "sched/arena/arena_scope.hpp"
#include "sched/arena/isolation.hpp"
#include "sched/core/program_runtime.hpp"
#include "sched/pool/dispatch.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {
namespace sched {
namespace {

Arena& arena_of(detail::arena_handle& handle) { return reinterpret_cast<Arena&>(handle); }

detail::arena_handle& handle_of(Arena& arena) {
  return reinterpret_cast<detail::arena_handle&>(arena);
}

// Owns a reference while a thread uses an arena that another call, or this one, may release.
class ArenaUse {
 public:
  explicit ArenaUse(Arena& arena) : arena_(arena) { thread_pool.add_reference(arena); }
  ~ArenaUse() { thread_pool.release(arena_); }
  ArenaUse(const ArenaUse&) = delete;
  ArenaUse& operator=(const ArenaUse&) = delete;

 private:
  Arena& arena_;
};

// A call that waits for a slot in its arena. The thread that takes the task out of the arena's
// queue makes the call: a thread of the arena, or the caller once a slot is free.
class DelegatedCall : task_base {
 public:
  DelegatedCall(Arena& arena, Thread& caller, void (*function)(void*), void* argument)
      : task_base(&run), arena_(arena), caller_(caller), function_(function), argument_(argument) {
    context = &detail::no_group;
    link_.outer = around_new_call(caller);
    link_.awaited_below = caller.awaited;
    link_.is_of_task = link_.outer != nullptr && link_.outer->is_of_task;
  }

  // The caller runs tasks of its own arena meanwhile. So threads that have the slots of two arenas,
  // and want one in each other's, make progress.
  void wait() {
    const detail::call_trace trace(caller_);
    arena_.enqueue(*this, &link_);
    while (!is_done()) {
      if (!is_taken_) {
        ArenaScope scope(caller_);
        if (arena_.enter(caller_, Arena::As::kCaller)) {
          scope.begin();
          is_taken_ = !arena_.withdraw(*this);
          if (!is_taken_) {
            detail::trace_no_push(caller_, *this);
            function_(argument_);
            return;
          }
        }
      }
      caller_.awaited = &link_;
      wait_for_any(caller_, this, &may_go_on);
      caller_.awaited = link_.awaited_below;
    }
    detail::trace_join(caller_, this);
    if (error_) throw_again(error_);
  }

 private:
  static task_base* run(task_base* self, detail::thread_data& thread, bool) {
    DelegatedCall& call = *static_cast<DelegatedCall*>(self);
    Thread& t = static_cast<Thread&>(thread);
    t.context = &t.root;
    const CallLink* const around = t.around;
    const CallLink* const awaited = t.awaited;
    t.around = &call.link_;
    if (call.link_.is_of_task) t.awaited = nullptr;
    call.error_ = exception_of([&] { call.function_(call.argument_); });
    t.around = around;
    t.awaited = awaited;
    const void* const key = &call.arena_;
    detail::trace_end(thread, &call);
    call.done_.store(true, std::memory_order_release);  // (1) release: publishes the call to (2)
    detail::notify_waiters(thread, key);
    return nullptr;
  }

  // (2) acquire: sees the call, published by (1)
  bool is_done() const { return done_.load(std::memory_order_acquire); }

  // Whether the call has been made or a slot is free. Both are notified with the arena's address as
  // the key.
  static bool may_go_on(const void* self) {
    const DelegatedCall& call = *static_cast<const DelegatedCall*>(self);
    return call.is_done() || (!call.is_taken_ && call.arena_.has_free_slot());
  }

  CallLink link_;
  Arena& arena_;
  Thread& caller_;
  void (*const function_)(void*);
  void* const argument_;
  bool is_taken_ = false;  // by a thread of the arena, which makes the call
  std::atomic<bool> done_{false};
  std::exception_ptr error_;
};

}  // namespace
}  // namespace sched

namespace detail {

context_node no_group{{0}, {0}, {}};

arena_handle& make_arena(const arena_settings& settings) {
  check_constraints(settings.limits);
  sched::Thread::current();  // sets the library up
  sched::ArenaPlan plan;
  plan.width =
      unsigned(std::max(settings.limits.max_concurrency > 0 ? settings.limits.max_concurrency
                                                            : default_arena_width(settings.limits),
                        1));
  plan.reserved = std::min(settings.reserved, plan.width);
  plan.priority = settings.priority;
  plan.numa_node = settings.limits.numa_id;
  plan.core_type = settings.limits.core_type;
  plan.threads_per_core = settings.limits.max_threads_per_core;
  return sched::handle_of(sched::thread_pool.make_arena(plan));
}

arena_handle* attach_arena() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  if (t == nullptr || t->arena == nullptr) return nullptr;
  sched::thread_pool.add_reference(*t->arena);
  return &sched::handle_of(*t->arena);
}

void release_arena(arena_handle& arena) noexcept {
  sched::thread_pool.release(sched::arena_of(arena));
}

int arena_width(const arena_handle& arena) noexcept {
  return int(sched::arena_of(const_cast<arena_handle&>(arena)).width());
}

bool is_in_arena(const thread_data& thread, const arena_handle& arena) noexcept {
  return static_cast<const sched::Thread&>(thread).arena ==
         &sched::arena_of(const_cast<arena_handle&>(arena));
}

bool is_additional_worker(const arena_handle* arena) noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t != nullptr && t->arena != nullptr && &sched::handle_of(*t->arena) == arena &&
         t->arena->is_additional(*t->slot);
}

int current_arena_width() {
  const sched::Thread& t = sched::Thread::current();
  return int(t.arena->width()) + (t.arena->is_additional(*t.slot) ? 1 : 0);
}

int default_arena_width(const constraints& limits) { return info::default_concurrency(limits); }

void execute_in(arena_handle& handle, void (*function)(void*), void* argument) {
  sched::Thread& t = sched::Thread::current();
  sched::Arena& arena = sched::arena_of(handle);
  if (t.arena == &arena) {
    // As in any other arena, what is called is in no isolation scope of the caller's.
    const sched::IsolationGuard scope(t, sched::kNoIsolation);
    function(argument);
    return;
  }
  const sched::ArenaUse use(arena);
  {
    sched::ArenaScope scope(t);
    if (scope.go_back_to(arena)) {
      function(argument);
      return;
    }
    if (arena.enter(t, sched::Arena::As::kCaller)) {
      scope.begin();
      function(argument);
      return;
    }
  }
  sched::DelegatedCall(arena, t, function, argument).wait();
}

void enqueue_in(arena_handle& handle, task_base& task) {
  sched::Arena& arena = sched::arena_of(handle);
  const sched::ArenaUse use(arena);
  arena.enqueue(task);
}

void enqueue_here(task_base& task) { sched::Thread::current().arena->enqueue(task); }

std::uint64_t new_isolation_scope() noexcept { return sched::new_isolation_scope(); }

void isolate_in(std::uint64_t isolation, void (*function)(void*), void* argument) {
  sched::IsolationGuard scope(sched::Thread::current(), isolation);
  function(argument);
}

}  // namespace detail
}  // namespace corbel
