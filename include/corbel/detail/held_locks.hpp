// SPDX-License-Identifier: Apache-2.0
// How many locks of these headers the thread holds, counted by programs compiled with
// CORBEL_USE_DEBUG. The scheduler looks at it where a thread is about to wait for tasks: one that
// does so under a lock may take up a task that wants the same lock. Not for programs to include.
#ifndef CORBEL_DETAIL_HELD_LOCKS_HPP
#define CORBEL_DETAIL_HELD_LOCKS_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Of libcorbel. Not thread_local, whose access from another library calls a function that asks
// whether it needs to be constructed.
extern CORBEL_EXPORT __thread int held_locks;

// The thread has taken (+1) or given back (-1) a lock.
inline void note_lock_held(int change) noexcept {
#if CORBEL_USE_DEBUG
  held_locks += change;
#else
  static_cast<void>(change);
#endif
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HELD_LOCKS_HPP
