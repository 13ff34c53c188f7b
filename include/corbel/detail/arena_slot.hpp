// SPDX-License-Identifier: Apache-2.0
// The slot of a thread in its arena. Not for programs to include.
#ifndef CORBEL_DETAIL_ARENA_SLOT_HPP
#define CORBEL_DETAIL_ARENA_SLOT_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

struct thread_data;

// The maximum number of threads that work in the arena of the thread.
CORBEL_EXPORT unsigned arena_width(const thread_data& thread) noexcept;

// The index of the thread's slot in its arena, from 0.
CORBEL_EXPORT unsigned slot_index(const thread_data& thread) noexcept;

// The slot index of the calling thread; -1 if it is in no arena.
CORBEL_EXPORT int current_slot_index() noexcept;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ARENA_SLOT_HPP
