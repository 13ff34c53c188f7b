// SPDX-License-Identifier: Apache-2.0
// The number of these headers' locks that a thread holds, counted in programs compiled with
// CORBEL_USE_DEBUG. The scheduler checks it when a thread begins to wait for tasks: under a lock,
// the thread may run a task that wants the same lock. Not for programs to include.
#ifndef CORBEL_DETAIL_HELD_LOCKS_HPP
#define CORBEL_DETAIL_HELD_LOCKS_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Defined in libcorbel. Not thread_local: access from another library would call a function that
// checks whether the variable must be constructed.
CORBEL_LIBRARY_THREAD_VARIABLE(, int, held_locks, own_held_locks);

// Counts a lock that the thread has acquired (+1) or is about to release (-1).
inline void note_lock_held(int change) noexcept {
#if CORBEL_USE_DEBUG
  own_held_locks() += change;
#else
  static_cast<void>(change);
#endif
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HELD_LOCKS_HPP
