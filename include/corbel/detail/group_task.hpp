// SPDX-License-Identifier: Apache-2.0
// The tasks of task groups, and the order that a program may give them. Not for programs to
// include.
#ifndef CORBEL_DETAIL_GROUP_TASK_HPP
#define CORBEL_DETAIL_GROUP_TASK_HPP

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_count.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {

class task_handle;

namespace detail {

struct task_order;

// A task that counts in a group from its construction to its end. To drop one that has not run is
// to run it cancelled.
struct group_task : task_base {
  group_count* count;
  // Only of tasks that have something to do with others.
  std::atomic<task_order*> order;

  group_task(function f, context_node& group, group_count& outstanding)
      : task_base(f), count(&outstanding), order(nullptr) {
    context = &group;
  }
};

// What others know of a task, also when it has ended: who comes after it, and for how many it
// waits. Kept by the task and by handles.
CORBEL_EXPORT task_order& order_of(group_task& t);
CORBEL_EXPORT void keep(task_order& order) noexcept;
CORBEL_EXPORT void drop(task_order& order) noexcept;
// `after` will not run before the other has ended.
CORBEL_EXPORT void put_before(task_order& before, group_task& after);
// Those that come after the task that this thread runs will come after `t` instead.
CORBEL_EXPORT void transfer_order(worker& w, group_task& t);
CORBEL_EXPORT bool has_ended(task_order& order) noexcept;
// Ends the order of a task: those that waited for it alone are spawned.
CORBEL_EXPORT void end_order(worker& w, task_order& order) noexcept;
// Whether a task that has been submitted may run now; else the last one it waits for spawns it.
CORBEL_EXPORT bool may_begin(task_order& order) noexcept;

// Makes it available, when it may begin.
inline void submit(worker& w, group_task& t) {
  task_order* const order =
      t.order.load(std::memory_order_relaxed);  // relaxed: its handle's holder
  if (CORBEL_LIKELY(order == nullptr) || may_begin(*order)) spawn(w, t);
}

// The body, and the memory that the task lies in.
template <typename F>
struct function_task : group_task {
  F body;

  template <typename G>
  function_task(G&& f, context_node& group, group_count& outstanding)
      : group_task(&execute, group, outstanding), body(std::forward<G>(f)) {}

  template <typename G>
  static function_task& make(worker& w, G&& f, context_node& group, group_count& outstanding) {
    static_assert(alignof(F) <= kCacheLine, "tasks are aligned to cache lines at most");
    block b{w, allocate_task(w, sizeof(function_task))};
    function_task& t = *::new (b.memory) function_task(std::forward<G>(f), group, outstanding);
    b.memory = nullptr;
    outstanding.reserve(w);
    return t;
  }

 private:
  // For bodies whose constructor throws.
  struct block {
    worker& w;
    void* memory;
    ~block() {
      if (memory != nullptr) deallocate_task(w, memory, sizeof(function_task));
    }
  };

  static task_base* execute(task_base* self, worker& w, bool cancelled) {
    function_task& t = *static_cast<function_task*>(self);
    task_base* next = nullptr;
    if (!cancelled) {
      group_task* const outer = w.running;
      w.running = &t;
      call_captured(*t.context,
                    [&] { next = t.call(std::is_same<decltype(t.body()), task_handle>()); });
      w.running = outer;
    }
    group_count& outstanding = *t.count;
    // relaxed: set before the task was submitted, or by this thread
    task_order* const order = t.order.load(std::memory_order_relaxed);
    t.~function_task();
    deallocate_task(w, &t, sizeof(function_task));
    if (CORBEL_UNLIKELY(order != nullptr)) end_order(w, *order);
    outstanding.release(w);
    return next;
  }

  task_base* call(std::false_type) {
    body();
    return nullptr;
  }
  task_base* call(std::true_type);  // in task_handle.hpp
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_TASK_HPP
