// SPDX-License-Identifier: Apache-2.0
// A fork and its join: two functions that may run in parallel. The task lies in the frame of the
// fork, so that a fork nobody steals costs a push and a pop.
#ifndef CORBEL_DETAIL_FORK_HPP
#define CORBEL_DETAIL_FORK_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>

namespace corbel {
namespace detail {

// Calls `f`; what it throws goes into the context.
template <typename F>
inline void call_captured(context_node& context, F&& f) {
#if CORBEL_EXCEPTIONS
  try {
    f();
  } catch (...) {
    capture_exception(context);
  }
#else
  static_cast<void>(context);
  f();
#endif
}

// Calls `f`, whose exceptions belong to the caller, unless they are to end the program.
template <typename F>
inline void call_passing(F&& f) {
#if CORBEL_EXCEPTIONS
  try {
    f();
  } catch (...) {
    pass_exception();
  }
#else
  f();
#endif
}

struct fork_base : task_base {
  std::atomic<std::uint32_t> done;
  std::uint64_t length;  // of its strand, where the thread that ran it is traced

  fork_base(function f, context_node& group) : task_base(f), done(0) { context = &group; }
};

template <typename F>
struct fork_task : fork_base {
  F& body;

  fork_task(context_node& group, F& f) : fork_base(&execute, group), body(f) {}

  static task_base* execute(task_base* self, worker& w, bool cancelled) {
    fork_task& task = *static_cast<fork_task*>(self);
    if (!cancelled) call_captured(*task.context, task.body);
    if (CORBEL_UNLIKELY(w.trace != nullptr)) task.length = strand_length(w);
    const void* const key = &task.done;
    // (1) release: what the body did, with join_slow; the frame may be gone behind it
    task.done.store(1, std::memory_order_release);
    notify_waiters(w, key);
    return nullptr;
  }
};

// As ring(), for a fork, which a trace takes notice of.
CORBEL_EXPORT void ring_fork(worker& w) noexcept;

// Behind a fork whose own task did not come back from the deque at once: somebody stole it, or the
// first function spawned what came back instead and did not wait for it, or the deque is slow.
CORBEL_EXPORT void join_slow(worker& w, task_base* popped, fork_base& task) noexcept;

// Calls `here` in this thread, and pushes a task before that calls `there`. Whether it came back,
// so that the call is still to be made.
template <typename Here, typename There>
inline bool fork_here(worker& w, context_node& group, Here& here, There& there) {
  fork_task<There> task(group, there);
  task_deque& deque = *w.tasks;
  deque.push(&task);
  deque_system::compiler_barrier();
  // relaxed: as in spawn
  if (CORBEL_UNLIKELY(w.bell->load(std::memory_order_relaxed) != 0)) ring_fork(w);
  call_captured(group, here);
  task_base* const popped = deque.pop_fast();
  if (CORBEL_LIKELY(popped == &task)) return CORBEL_LIKELY(!w.is_cancelled(group));
  join_slow(w, popped, task);
  return false;
}

// Calls `here` in this thread and `there` in whichever comes first. Returns when both have ended;
// throws what one of them threw. With `group` cancelled, what has not begun does not begin.
//
// For the outermost fork of a group alone: what is thrown on from here does not come into the group
// a second time.
template <typename Here, typename There>
inline void fork_join(worker& w, context_node& group, Here&& here, There&& there) {
  if (CORBEL_LIKELY(fork_here(w, group, here, there))) return call_passing(there);
  if (group.has_failed()) rethrow_exception(group);
}

// The same for a fork inside the group's own tasks: what is thrown stays in the group.
template <typename Here, typename There>
inline void fork_join_captured(worker& w, context_node& group, Here&& here, There&& there) {
  if (CORBEL_LIKELY(fork_here(w, group, here, there))) call_captured(group, there);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FORK_HPP
