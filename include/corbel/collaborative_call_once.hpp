// SPDX-License-Identifier: Apache-2.0
// Calls a function once; threads that arrive meanwhile help with its tasks instead of only waiting.
// C++11 and later. Follows the oneTBB specification 1.4 (collaborative_call_once).
#ifndef CORBEL_COLLABORATIVE_CALL_ONCE_HPP
#define CORBEL_COLLABORATIVE_CALL_ONCE_HPP

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/config.hpp>

namespace corbel {

class collaborative_once_flag;

namespace detail {

// States of a flag: no call has succeeded yet; one has. Any other value stands for a call in
// progress.
enum : std::uintptr_t { kNotCalled = 0, kCalled = 1 };

// Returns when this thread's function(argument), or that of another thread, has returned. Throws
// what this thread's call throws, and bad_alloc.
CORBEL_EXPORT void collaborative_call_once_slow(std::atomic<std::uintptr_t>& state,
                                                void (*function)(void*), void* argument);

template <typename F>
inline void call_object(void* f) {
  (*static_cast<F*>(f))();
}

// Calls the function with its value category preserved, or a pointer to a member of the first
// argument as std::invoke does.
template <typename F, typename... Arguments>
inline void call_once_with(std::false_type, F&& f, Arguments&&... arguments) {
  std::forward<F>(f)(std::forward<Arguments>(arguments)...);
}
template <typename F, typename... Arguments>
inline void call_once_with(std::true_type, F&& member, Arguments&&... arguments) {
  call(member, std::forward<Arguments>(arguments)...);
}

}  // namespace detail

// Whether a call of collaborative_call_once with this flag has succeeded; initially false.
class collaborative_once_flag {
 public:
  collaborative_once_flag() = default;
  collaborative_once_flag(const collaborative_once_flag&) = delete;
  collaborative_once_flag& operator=(const collaborative_once_flag&) = delete;

 private:
  template <typename F, typename... Arguments>
  friend void collaborative_call_once(collaborative_once_flag& flag, F&& f,
                                      Arguments&&... arguments);
  std::atomic<std::uintptr_t> state_{detail::kNotCalled};
};

// Calls f(arguments...), as std::invoke does, if no such call with this flag has succeeded yet, and
// returns when one has. Threads that arrive while the call runs help with the parallel algorithms
// and tasks that `f` starts, except those inside this_task_arena::isolate, and run no other tasks.
// The same is true of threads that wait inside `f`.
//
// An exception of `f` propagates to the thread that called it, and the flag stays unset: a waiting
// thread calls its function next. `f` runs outside of the context around the call, so cancelling
// that context does not stop it. `f` must not call with the same flag: it would deadlock. Any
// thread may call it. Throws bad_alloc.
template <typename F, typename... Arguments>
inline void collaborative_call_once(collaborative_once_flag& flag, F&& f,
                                    Arguments&&... arguments) {
  // (1) acquire: sees what the call did, which collaborative_call_once_slow published by a release
  // of kCalled
  if (CORBEL_LIKELY(flag.state_.load(std::memory_order_acquire) == detail::kCalled)) return;
  auto call = [&] {
    detail::call_once_with(std::is_member_pointer<typename std::decay<F>::type>(),
                           std::forward<F>(f), std::forward<Arguments>(arguments)...);
  };
  detail::collaborative_call_once_slow(flag.state_, &detail::call_object<decltype(call)>, &call);
}

}  // namespace corbel

#endif  // CORBEL_COLLABORATIVE_CALL_ONCE_HPP
