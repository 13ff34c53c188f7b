// SPDX-License-Identifier: Apache-2.0
// A fork and its join: two functions that may run in parallel. The task lies in the frame of the
// fork, so a fork that no thread steals costs a push and a pop. Not for programs to include.
#ifndef CORBEL_DETAIL_FORK_HPP
#define CORBEL_DETAIL_FORK_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>

namespace corbel {
namespace detail {

struct fork_base : task_base {
  std::atomic<std::uint32_t> done;
  // The length of the path to the task's end, see critical_path_length; set if the thread that ran
  // it is traced.
  std::uint64_t length;

  fork_base(function f, context_node& group) : task_base(f), done(0) { context = &group; }
};

template <typename F>
struct fork_task : fork_base {
  F& body;

  fork_task(context_node& group, F& f) : fork_base(&execute, group), body(f) {}

  static task_base* execute(task_base* self, thread_data& thread, bool cancelled) {
    fork_task& task = *static_cast<fork_task*>(self);
    if (!cancelled) call_captured(*task.context, task.body);
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) task.length = critical_path_length(thread);
    const void* const key = &task.done;
    // (1) release: publishes what the body did to the acquire load in join_slow. The frame, and
    // the task in it, may be gone after this store.
    task.done.store(1, std::memory_order_release);
    notify_waiters(thread, key);
    return nullptr;
  }
};

// Like signal_new_task, for the task of a fork. Also records the fork if the thread is traced.
CORBEL_EXPORT void signal_fork(thread_data& thread) noexcept;

// Joins a fork whose pop did not return the fork's own task: the task was stolen, or the first
// function spawned `popped` and did not wait for it, or the deque is slow. Never throws; exceptions
// stay in the group.
CORBEL_EXPORT void join_slow(thread_data& thread, task_base* popped, fork_base& task) noexcept;

// Pushes a task that calls `there`, then calls `here` in this thread. Returns whether the caller
// still has to call `there`: no thread has stolen the task, and the group is not cancelled. Throws
// bad_alloc.
template <typename Here, typename There>
inline bool fork_here(thread_data& thread, context_node& group, Here& here, There& there) {
  fork_task<There> task(group, there);
  task_deque& deque = *thread.tasks;
  deque.push(&task);
  deque_system::compiler_barrier();
  // relaxed: for the reason that spawn gives. A thread about to park sets the flag, passes a
  // process barrier and then looks for tasks: either it sees the push, or this load sees the flag.
  if (CORBEL_UNLIKELY(thread.wake_flag->load(std::memory_order_relaxed) != 0)) signal_fork(thread);
  call_captured(group, here);
  task_base* const popped = deque.pop_fast();
  if (CORBEL_LIKELY(popped == &task)) return CORBEL_LIKELY(!thread.is_cancelled(group));
  join_slow(thread, popped, task);
  return false;
}

// Calls `here` in this thread and `there` in this or another one. Returns when both have ended;
// throws what one of them threw. If `group` is cancelled, a function that has not begun does not
// begin.
//
// Only for the outermost fork of a group: what `there` throws in this thread goes to the caller
// without passing through the group.
template <typename Here, typename There>
inline void fork_join(thread_data& thread, context_node& group, Here&& here, There&& there) {
  if (CORBEL_LIKELY(fork_here(thread, group, here, there))) return call_passing(there);
  if (group.has_failed()) rethrow_exception(group);
}

// Like fork_join, for forks inside the group's own tasks: exceptions stay in the group.
template <typename Here, typename There>
inline void fork_join_captured(thread_data& thread, context_node& group, Here&& here,
                               There&& there) {
  if (CORBEL_LIKELY(fork_here(thread, group, here, there))) call_captured(group, there);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FORK_HPP
