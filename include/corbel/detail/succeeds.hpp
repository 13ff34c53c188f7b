// SPDX-License-Identifier: Apache-2.0
// A call whose exception is an answer. Not for programs to include.
#ifndef CORBEL_DETAIL_SUCCEEDS_HPP
#define CORBEL_DETAIL_SUCCEEDS_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Calls `f`. Returns whether it returned: false if it has thrown.
template <typename F>
inline bool succeeds(const F& f) noexcept {
#if CORBEL_EXCEPTIONS
  try {
    f();
  } catch (...) {
    return false;
  }
#else
  f();
#endif
  return true;
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SUCCEEDS_HPP
