// SPDX-License-Identifier: Apache-2.0
// What happens when a check of these headers fails (CORBEL_USE_ASSERT). C++11 upwards. Follows the
// oneTBB specification.
#ifndef CORBEL_ASSERTION_HANDLER_HPP
#define CORBEL_ASSERTION_HANDLER_HPP

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace corbel {

// Gets the place, the condition that does not hold, and what that means. Should not return: the
// program ends when it does.
using assertion_handler_type = void (*)(const char* file, int line, const char* condition,
                                        const char* what);

namespace detail {

inline void default_assertion_handler(const char* file, int line, const char* condition,
                                      const char* what) {
  std::fprintf(stderr, "corbel: %s:%d: assertion %s failed: %s\n", file, line, condition, what);
}

// One for all of a program's shared objects.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
inline std::atomic<assertion_handler_type>&
assertion_handler() noexcept {
  static std::atomic<assertion_handler_type> handler{&default_assertion_handler};
  return handler;
}

[[noreturn]] inline void assertion_failed(const char* file, int line, const char* condition,
                                          const char* what) {
  // acquire: what the handler needs, with set_assertion_handler
  assertion_handler().load(std::memory_order_acquire)(file, line, condition, what);
  std::abort();
}

}  // namespace detail

// Sets it, or with nullptr the default, which prints a line; returns the one before. Both functions
// may be called from any thread.
inline assertion_handler_type set_assertion_handler(assertion_handler_type wanted) noexcept {
  if (wanted == nullptr) wanted = &detail::default_assertion_handler;
  // acq_rel: what the handlers need, the new and the old one
  return detail::assertion_handler().exchange(wanted, std::memory_order_acq_rel);
}

inline assertion_handler_type get_assertion_handler() noexcept {
  // acquire: as in assertion_failed
  return detail::assertion_handler().load(std::memory_order_acquire);
}

}  // namespace corbel

#endif  // CORBEL_ASSERTION_HANDLER_HPP
