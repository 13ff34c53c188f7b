// SPDX-License-Identifier: Apache-2.0
// The handler for failed assertions of these headers (CORBEL_USE_ASSERT). C++11 and later. Follows
// oneTBB's interface for custom assertion handlers.
#ifndef CORBEL_ASSERTION_HANDLER_HPP
#define CORBEL_ASSERTION_HANDLER_HPP

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace corbel {

// Gets the source position, the condition that is false, and what that means. If the handler
// returns, the program ends with std::abort.
using assertion_handler_type = void (*)(const char* file, int line, const char* condition,
                                        const char* what);

namespace detail {

inline void default_assertion_handler(const char* file, int line, const char* condition,
                                      const char* what) {
  std::fprintf(stderr, "corbel: %s:%d: assertion %s failed: %s\n", file, line, condition, what);
}

// One handler for all shared objects of the program.
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
  // (2) acquire: sees what the thread that set the handler wrote before (1)
  assertion_handler().load(std::memory_order_acquire)(file, line, condition, what);
  std::abort();
}

}  // namespace detail

// Sets the handler of the process and returns the previous one. nullptr sets the default handler,
// which prints a line to stderr. Any thread may call it.
inline assertion_handler_type set_assertion_handler(assertion_handler_type wanted) noexcept {
  if (wanted == nullptr) wanted = &detail::default_assertion_handler;
  // (1) release: publishes what the new handler needs to (1), (2) and (3). acquire: the caller may
  // call the old handler, so it sees what the (1) that set it published
  return detail::assertion_handler().exchange(wanted, std::memory_order_acq_rel);
}

// Returns the current handler. Any thread may call it.
inline assertion_handler_type get_assertion_handler() noexcept {
  // (3) acquire: the caller may call the handler, so it sees what (1) published
  return detail::assertion_handler().load(std::memory_order_acquire);
}

}  // namespace corbel

#endif  // CORBEL_ASSERTION_HANDLER_HPP
