// SPDX-License-Identifier: Apache-2.0
// Arenas, isolation and the description of the machine.
#include <corbel/detail/group_call.hpp>
#include <corbel/info.hpp>
#include <corbel/task_arena.hpp>

#include "tbb12/running.hpp"

namespace corbel::tbb12 {

namespace {

void publish(d1::task_arena_base& a, corbel::detail::arena_handle* handle) {
  // (2) release: publishes the arena to (1), also in other files
  a.arena.store(reinterpret_cast<r1::arena*>(handle), std::memory_order_release);
}

corbel::detail::constraints limits_of(const d1::task_arena_base& a) {
  corbel::detail::constraints limits{a.numa_id, a.max_concurrency};
  // Programs that were compiled with the first headers have no such members.
  if ((a.version_and_traits & d1::task_arena_base::kHasCoreType) != 0) {
    limits.set_core_type(a.core_type).set_max_threads_per_core(a.max_threads_per_core);
  }
  return limits;
}

corbel::detail::constraints limits_of(const d1::constraints& c) {
  corbel::detail::constraints limits{c.numa_id, c.max_concurrency};
  return limits.set_core_type(c.core_type).set_max_threads_per_core(c.max_threads_per_core);
}

void call(void* function) { (*static_cast<d1::delegate_base*>(function))(); }

// Whether the thread runs a task of either kind. Only a thread outside of tasks has a context
// without a link, and tasks in an isolated context of a program that Corbel's headers compiled.
bool is_in_task(const thread_data& thread) {
  // relaxed: the thread itself uses the link
  return running != nullptr || thread.context->link.load(std::memory_order_relaxed) != 0;
}

// Calls the function in a task of the arena, but not in the task's group: what the function begins
// does not end with the group, as in any other arena.
void call_apart(thread_data& thread, corbel::detail::arena_handle& arena,
                d1::delegate_base& function) {
  d1::task* const task = running == nullptr ? nullptr : running->task;
  Running now{{&no_context(), d1::kNoSlot, d1::kNoSlot}, thread, task};
  const RunningScope scope(now);
  const corbel::detail::context_switch apart(thread, node_of(no_context()));
  corbel::detail::execute_in(arena, &call, &function);
}

}  // namespace

}  // namespace corbel::tbb12

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

CORBEL_TBB12 void initialize(d1::task_arena_base& a) {
  const corbel::detail::constraints limits = limits_of(a);
  const int priority = a.priority / d1::task_arena_base::kPriorityStep - 2;
  corbel::detail::arena_handle& made =
      corbel::detail::make_arena({limits, a.reserved_slots, priority});
  a.max_concurrency = corbel::detail::arena_width(made);
  publish(a, &made);
}

CORBEL_TBB12 void terminate(d1::task_arena_base& a) {
  corbel::detail::arena_handle* const handle = handle_of(a);
  publish(a, nullptr);
  if (handle != nullptr) corbel::detail::release_arena(*handle);
}

CORBEL_TBB12 bool attach(d1::task_arena_base& a) {
  corbel::detail::arena_handle* const here = corbel::detail::attach_arena();
  if (here == nullptr) return false;
  a.max_concurrency = corbel::detail::arena_width(*here);
  publish(a, here);
  return true;
}

CORBEL_TBB12 void execute(d1::task_arena_base& a, d1::delegate_base& function) {
  thread_data& thread = current_thread();
  corbel::detail::arena_handle& arena = *handle_of(a);
  if (is_in_task(thread) && corbel::detail::is_in_arena(thread, arena)) {
    call_apart(thread, arena, function);
  } else {
    const RunningScope scope;
    corbel::detail::execute_in(arena, &call, &function);
  }
}

// Only old debugging programs call it: runs what the arena has, in the arena.
CORBEL_TBB12 void wait(d1::task_arena_base& a) {
  const RunningScope scope;
  corbel::detail::execute_in(*handle_of(a), [](void*) {}, nullptr);
}

CORBEL_TBB12 int max_concurrency(const d1::task_arena_base* a) {
  if (a == nullptr) {
    // A thread that only asks gets no arena of its own.
    return corbel::detail::own_thread_data() == nullptr
               ? corbel::detail::default_arena_width(corbel::detail::constraints())
               : corbel::detail::current_arena_width();
  }
  if (const corbel::detail::arena_handle* const handle = handle_of(*a)) {
    return corbel::detail::arena_width(*handle) +
           (corbel::detail::is_additional_worker(handle) ? 1 : 0);
  }
  return a->max_concurrency > 0 ? a->max_concurrency
                                : corbel::detail::default_arena_width(limits_of(*a));
}

// The scope 0 is a new one; any other is the same for all threads that name it.
CORBEL_TBB12 void isolate_within_arena(d1::delegate_base& function, std::intptr_t scope) {
  constexpr std::uint64_t kNamed = std::uint64_t{1} << 63;  // no counted scope has this bit
  const std::uint64_t number = scope == 0 ? corbel::detail::new_isolation_scope()
                                          : kNamed | static_cast<std::uint64_t>(scope);
  corbel::detail::isolate_in(number, &call, &function);
}

CORBEL_TBB12 d1::slot_id execution_slot(const d1::task_arena_base& a) {
  const corbel::detail::arena_handle* const handle = handle_of(a);
  const thread_data* const thread = corbel::detail::own_thread_data();
  if (handle == nullptr || thread == nullptr || !corbel::detail::is_in_arena(*thread, *handle)) {
    return d1::kNoSlot;
  }
  return d1::slot_id(corbel::detail::slot_index(*thread));
}

// Hints about series of parallel calls, as in Corbel's own interface: ignored.
CORBEL_TBB12 void enter_parallel_phase(d1::task_arena_base*, std::uintptr_t) {}
CORBEL_TBB12 void exit_parallel_phase(d1::task_arena_base*, std::uintptr_t) {}

// ---- the machine

CORBEL_TBB12 unsigned numa_node_count() { return unsigned(corbel::info::numa_nodes().size()); }

CORBEL_TBB12 void fill_numa_indices(int* indices) {
  for (const int node : corbel::info::numa_nodes()) *indices++ = node;
}

CORBEL_TBB12 int numa_default_concurrency(int node) {
  return corbel::info::default_concurrency(node);
}

CORBEL_TBB12 unsigned core_type_count(std::intptr_t) {
  return unsigned(corbel::info::core_types().size());
}

CORBEL_TBB12 void fill_core_type_indices(int* indices, std::intptr_t) {
  for (const int type : corbel::info::core_types()) *indices++ = type;
}

CORBEL_TBB12 int constraints_default_concurrency(const d1::constraints& c, std::intptr_t) {
  return corbel::info::default_concurrency(limits_of(c));
}

CORBEL_TBB12 int constraints_threads_per_core(const d1::constraints& c, std::intptr_t) {
  return c.max_threads_per_core;
}

}  // namespace tbb::detail::r1
