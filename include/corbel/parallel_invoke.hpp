// SPDX-License-Identifier: Apache-2.0
// Calls functions in parallel. C++11 upwards; parallel_invoke of the oneTBB specification.
#ifndef CORBEL_PARALLEL_INVOKE_HPP
#define CORBEL_PARALLEL_INVOKE_HPP

#include <type_traits>

#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// The first function runs in this thread; the rest is one task, which forks in the same way. A
// context in the last place is no function.
template <typename F0, typename F1>
inline void invoke_in(worker& w, context_node& group, F0& f0, F1& f1) {
  fork_join_captured(w, group, f0, f1);
}

template <typename F0, typename F1>
inline void invoke_in(worker& w, context_node& group, F0& f0, F1& f1, task_group_context&) {
  fork_join_captured(w, group, f0, f1);
}

template <typename F0, typename F1, typename F2, typename... Fs>
inline void invoke_in(worker& w, context_node& group, F0& f0, F1& f1, F2& f2, Fs&... rest) {
  fork_join_captured(w, group, f0, [&] { invoke_in(current_worker(), group, f1, f2, rest...); });
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
  call_in_group([&](worker& w, context_node& group) { invoke_in(w, group, fs...); });
}

template <typename... Fs>
inline void invoke_several(std::true_type, Fs&... fs) {
  call_in_group(last_of(fs...),
                [&](worker& w, context_node& group) { invoke_in(w, group, fs...); });
}

}  // namespace detail

// Calls every function, in any order and perhaps at the same time, and returns when all have ended:
// f0(), f1() and so on; what they return is dropped. If one throws, those that have not begun do
// not begin, and the exception is thrown here once the others have ended. May be called from any
// thread.
template <typename F0, typename F1>
inline void parallel_invoke(F0&& f0, F1&& f1) {
  detail::worker& w = detail::current_worker();
  detail::context_node& outer = *w.context;
  if (w.is_cancelled(outer)) return;
  detail::context_node group;
  group.attach_to(outer);
  const detail::context_switch scope(w, group);
  detail::fork_join(w, group, f0, f1);
}

// The same for more functions. The last argument may be a task_group_context, in which the
// functions then run, and which an exception cancels; nothing is called if it is cancelled.
template <typename F0, typename F1, typename F2, typename... Fs>
inline void parallel_invoke(F0&& f0, F1&& f1, F2&& f2, Fs&&... fs) {
  detail::invoke_several(typename detail::ends_in_context<F2, Fs...>::type(), f0, f1, f2, fs...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_INVOKE_HPP
