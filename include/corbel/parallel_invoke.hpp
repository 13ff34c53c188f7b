// SPDX-License-Identifier: Apache-2.0
// Calls functions in parallel. C++11 and later. Follows the oneTBB specification 1.4
// ([algorithms.parallel_invoke]).
#ifndef CORBEL_PARALLEL_INVOKE_HPP
#define CORBEL_PARALLEL_INVOKE_HPP

#include <type_traits>

#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// Runs the first function in this thread and spawns one task for the rest, which forks in the same
// way. A task_group_context as the last argument is not a function.
template <typename F0, typename F1>
inline void invoke_in(thread_data& thread, context_node& group, F0& f0, F1& f1) {
  fork_join_captured(thread, group, f0, f1);
}

template <typename F0, typename F1>
inline void invoke_in(thread_data& thread, context_node& group, F0& f0, F1& f1,
                      task_group_context&) {
  fork_join_captured(thread, group, f0, f1);
}

template <typename F0, typename F1, typename F2, typename... Fs>
inline void invoke_in(thread_data& thread, context_node& group, F0& f0, F1& f1, F2& f2,
                      Fs&... rest) {
  fork_join_captured(thread, group, f0,
                     [&] { invoke_in(current_thread(), group, f1, f2, rest...); });
}

inline task_group_context& last_of(task_group_context& last) { return last; }

template <typename First, typename... Rest>
inline task_group_context& last_of(First&, Rest&... rest) {
  return last_of(rest...);
}

template <typename... Fs>
struct ends_in_context;
template <typename F>
struct ends_in_context<F> : std::is_same<F, task_group_context&> {};
template <typename F0, typename F1, typename... Fs>
struct ends_in_context<F0, F1, Fs...> : ends_in_context<F1, Fs...> {};

template <typename... Fs>
inline void invoke_several(std::false_type, Fs&... fs) {
  call_in_group([&](thread_data& thread, context_node& group) { invoke_in(thread, group, fs...); });
}

template <typename... Fs>
inline void invoke_several(std::true_type, Fs&... fs) {
  call_in_group(last_of(fs...),
                [&](thread_data& thread, context_node& group) { invoke_in(thread, group, fs...); });
}

}  // namespace detail

// Calls f0() and f1(), in any order and perhaps at the same time, and returns when both have ended.
// Return values are ignored. If one throws, no further function begins, and the exception is thrown
// here after the others have ended. bad_alloc is treated in the same way. Any thread may call it.
template <typename F0, typename F1>
inline void parallel_invoke(F0&& f0, F1&& f1) {
  detail::thread_data& thread = detail::current_thread();
  detail::context_node& outer = *thread.context;
  if (thread.is_cancelled(outer)) return;
  detail::context_node group;
  group.attach_to(outer);
  const detail::context_switch scope(thread, group);
  detail::fork_join(thread, group, f0, f1);
}

// Calls three functions or more, as above. The last argument may be a task_group_context: the
// functions run in that context, and an exception cancels it. In a cancelled context no function is
// called.
template <typename F0, typename F1, typename F2, typename... Fs>
inline void parallel_invoke(F0&& f0, F1&& f1, F2&& f2, Fs&&... fs) {
  detail::invoke_several(typename detail::ends_in_context<F2, Fs...>::type(), f0, f1, f2, fs...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_INVOKE_HPP
