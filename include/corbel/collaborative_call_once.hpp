// SPDX-License-Identifier: Apache-2.0
// Calls a function once for all threads, which help with it instead of only waiting. C++11 upwards;
// collaborative_call_once of the oneTBB specification.
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

// Of a flag: no call has succeeded, one has; anything else is a call in progress.
enum : std::uintptr_t { kNotCalled = 0, kCalled = 1 };

// Returns when function(argument) has returned, or that of another thread; throws what the own one
// throws. Throws bad_alloc.
CORBEL_EXPORT void call_once_together(std::atomic<std::uintptr_t>& state, void (*function)(void*),
                                      void* argument);

template <typename F>
inline void call_object(void* f) {
  (*static_cast<F*>(f))();
}

// Passes the function on as it is, unless it is a pointer to a member of the first argument.
template <typename F, typename... Arguments>
inline void call_once_with(std::false_type, F&& f, Arguments&&... arguments) {
  std::forward<F>(f)(std::forward<Arguments>(arguments)...);
}
template <typename F, typename... Arguments>
inline void call_once_with(std::true_type, F&& member, Arguments&&... arguments) {
  call(member, std::forward<Arguments>(arguments)...);
}

}  // namespace detail

// Whether a function has been called. Starts with no.
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
// returns when one has. Threads that come while it runs help with the parallel algorithms and tasks
// that f starts (but for those inside of this_task_arena::isolate), and run no others meanwhile. So
// do threads inside f itself while they wait.
//
// What f throws is thrown in the thread that called it, and the flag stays as it was: one of the
// others tries next. f runs outside of the context around the call: cancelling that does not stop
// it half way. f must not come to the same flag again, which would wait for ever. May be called
// from any thread; throws bad_alloc.
template <typename F, typename... Arguments>
inline void collaborative_call_once(collaborative_once_flag& flag, F&& f,
                                    Arguments&&... arguments) {
  // acquire: what the call has done, with call_once_together's release
  if (CORBEL_LIKELY(flag.state_.load(std::memory_order_acquire) == detail::kCalled)) return;
  auto call = [&] {
    detail::call_once_with(std::is_member_pointer<typename std::decay<F>::type>(),
                           std::forward<F>(f), std::forward<Arguments>(arguments)...);
  };
  detail::call_once_together(flag.state_, &detail::call_object<decltype(call)>, &call);
}

}  // namespace corbel

#endif  // CORBEL_COLLABORATIVE_CALL_ONCE_HPP
