// SPDX-License-Identifier: Apache-2.0
// Suspending and resuming tasks. A suspended task keeps its stack. Its thread works on another
// stack until the task is resumed, then returns to it: a task never changes threads. Not for
// programs to include; see task::suspend.
#ifndef CORBEL_DETAIL_SUSPEND_HPP
#define CORBEL_DETAIL_SUSPEND_HPP

#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A suspended task, for resume().
struct suspend_point_type;
using suspend_point = suspend_point_type*;

// Suspends the calling task: calls tell(argument, point), and returns once resume(point) has been
// called. `tell` makes sure that resume(point) is called exactly once, at once or later, by any
// thread. Throws bad_alloc if there is no memory for another stack; `tell` has not been called
// then. Throws what `tell` throws; resume(point) must not be called then.
//
// The other stack has the size of the workers' stacks (global_control::thread_stack_size), and is
// kept for further suspended tasks until the thread ends. An external thread that ends waits for
// the tasks that are suspended in it. A thread that runs other code when its task is resumed
// returns to the task when it next waits and finds nothing else to do, or when it suspends another
// task. A worker that sleeps while its tasks are suspended does not count against the thread limit
// (global_control::max_allowed_parallelism). When such tasks are resumed, their workers run at
// once, even above the limit, until other workers' tasks end.
CORBEL_EXPORT void suspend(void (*tell)(void* argument, suspend_point point), void* argument);

// Resumes the task: it continues as soon as its thread is free. Any thread may call it, exactly
// once for each suspend.
CORBEL_EXPORT void resume(suspend_point point) noexcept;

// Returns 0 on the stack that the calling thread was started with; on any other stack a number that
// no other one has.
CORBEL_EXPORT std::uintptr_t stack_key() noexcept;

// suspend with any function object that can be called as f(point).
template <typename F>
inline void suspend_with(F& f) {
  suspend([](void* argument, suspend_point point) { (*static_cast<F*>(argument))(point); }, &f);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SUSPEND_HPP
