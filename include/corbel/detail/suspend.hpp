// SPDX-License-Identifier: Apache-2.0
// Suspending a task in the middle and resuming it. The task keeps its stack; its thread does other
// work on another one until the task is resumed, and then goes on with it: a task never changes
// threads.
#ifndef CORBEL_DETAIL_SUSPEND_HPP
#define CORBEL_DETAIL_SUSPEND_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A suspended task, for resume().
struct suspend_point_type;
using suspend_point = suspend_point_type*;

// Suspends the calling task: calls `tell(argument, point)`, which must see to it that somebody
// calls resume(point) exactly once, now or later, in this thread or another. Returns when that has
// happened. Throws bad_alloc when there is no memory for another stack, and has called nothing
// then; and what `tell` throws, which nobody must have called resume for.
//
// The other stack is as large as those of the library's threads (global_control's
// thread_stack_size), and kept for the next suspended task until the thread ends. A thread of the
// program that ends waits for the tasks that are suspended in it; one that has been elsewhere while
// a task of its own waited comes back to it when it waits next, outside of tasks, or is suspended.
CORBEL_EXPORT void suspend(void (*tell)(void* argument, suspend_point point), void* argument);

// Lets the task go on as soon as its thread comes to it. From any thread; only once a suspend.
CORBEL_EXPORT void resume(suspend_point point) noexcept;

// The same with anything callable as f(suspend_point).
template <typename F>
inline void suspend_with(F& f) {
  suspend([](void* argument, suspend_point point) { (*static_cast<F*>(argument))(point); }, &f);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SUSPEND_HPP
