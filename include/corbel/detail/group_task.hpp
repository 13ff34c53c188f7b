// SPDX-License-Identifier: Apache-2.0
// The tasks of task groups, and the dependencies between them. Not for programs to include.
#ifndef CORBEL_DETAIL_GROUP_TASK_HPP
#define CORBEL_DETAIL_GROUP_TASK_HPP

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_count.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {

class task_handle;

namespace detail {

struct task_order;

// A task that counts in a group from its construction to its end. A task that has not run is
// dropped by running it as cancelled.
struct group_task : task_base {
  group_count* count;
  // nullptr for a task without dependencies or completion handles.
  std::atomic<task_order*> order;

  group_task(function f, context_node& group, group_count& outstanding)
      : task_base(f), count(&outstanding), order(nullptr) {
    context = &group;
  }
};

// A task's node in the dependency graph, which may outlive the task: its successors, and the number
// of its predecessors. Reference-counted; the task and its handles hold references.

// Returns the node of a task, which it makes if there is none. Throws bad_alloc.
CORBEL_EXPORT task_order& order_of(group_task& t);
// Adds or removes a reference.
CORBEL_EXPORT void keep(task_order& order) noexcept;
CORBEL_EXPORT void drop(task_order& order) noexcept;
// Makes `after` a successor: it does not run before the task of `before` has ended. Throws
// bad_alloc.
CORBEL_EXPORT void put_before(task_order& before, group_task& after);
// Makes the successors of the task that this thread runs successors of `t` instead. Throws
// bad_alloc.
CORBEL_EXPORT void transfer_order(thread_data& thread, group_task& t);
// Returns whether the task has ended, having run or not.
CORBEL_EXPORT bool has_ended(task_order& order) noexcept;
// Returns whether the task has ended without having run.
CORBEL_EXPORT bool was_dropped(task_order& order) noexcept;
// Runs tasks until the task has ended.
CORBEL_EXPORT void wait_for_end(thread_data& thread, task_order& order) noexcept;
// For a traced thread: what follows depends on the end of the task.
void join_path(thread_data& thread, task_order& order) noexcept;
// Called at the end of a task, or instead of it if the task does not run: spawns the successors
// that waited only for it.
CORBEL_EXPORT void end_order(thread_data& thread, task_order& order) noexcept;
CORBEL_EXPORT void end_order_unrun(thread_data& thread, task_order& order) noexcept;
// Submits a task: returns whether it may run now. If not, its last predecessor spawns it.
CORBEL_EXPORT bool may_begin(task_order& order) noexcept;

// Spawns the task, if it may begin.
inline void submit(thread_data& thread, group_task& t) {
  // relaxed: the owner of the task's handle, which is the caller, stored it
  task_order* const order = t.order.load(std::memory_order_relaxed);
  if (CORBEL_LIKELY(order == nullptr) || may_begin(*order)) spawn(thread, t);
}

// A group task that calls a function object, in a block of its own.
template <typename F>
struct function_task : group_task {
  F body;

  template <typename G>
  function_task(G&& f, context_node& group, group_count& outstanding)
      : group_task(&execute, group, outstanding), body(std::forward<G>(f)) {}

  template <typename G>
  static function_task& make(thread_data& thread, G&& f, context_node& group,
                             group_count& outstanding) {
    static_assert(alignof(F) <= kCacheLine, "tasks are aligned to cache lines at most");
    block b{thread, allocate_task(thread, sizeof(function_task))};
    function_task& t = *::new (b.memory) function_task(std::forward<G>(f), group, outstanding);
    b.memory = nullptr;
    outstanding.reserve(thread);
    return t;
  }

 private:
  // Frees the block if the constructor of the body throws.
  struct block {
    thread_data& thread;
    void* memory;
    ~block() {
      if (memory != nullptr) deallocate_task(thread, memory, sizeof(function_task));
    }
  };

  static task_base* execute(task_base* self, thread_data& thread, bool cancelled) {
    function_task& t = *static_cast<function_task*>(self);
    task_base* next = nullptr;
    if (!cancelled) {
      group_task* const outer = thread.running;
      thread.running = &t;
      call_captured(*t.context,
                    [&] { next = t.call(std::is_same<const_call_result<F>, task_handle>()); });
      thread.running = outer;
    }
    group_count& outstanding = *t.count;
    // relaxed: stored before the task was submitted, or by this thread
    task_order* const order = t.order.load(std::memory_order_relaxed);
    t.~function_task();
    deallocate_task(thread, &t, sizeof(function_task));
    if (CORBEL_UNLIKELY(order != nullptr)) {
      cancelled ? end_order_unrun(thread, *order) : end_order(thread, *order);
    }
    outstanding.release(thread);
    return next;
  }

  task_base* call(std::false_type) {
    call_as_const(body, 0);
    return nullptr;
  }
  task_base* call(std::true_type);  // in task_handle.hpp
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_TASK_HPP
