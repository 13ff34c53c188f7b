// SPDX-License-Identifier: Apache-2.0
// Where a thread is in its arena. Not for programs to include.
#ifndef CORBEL_DETAIL_ARENA_PLACE_HPP
#define CORBEL_DETAIL_ARENA_PLACE_HPP

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

struct worker;

// The most threads that work in the arena of the worker.
CORBEL_EXPORT unsigned arena_width(const worker& w) noexcept;

// The place of the worker in its arena, from 0 up.
CORBEL_EXPORT unsigned slot_index(const worker& w) noexcept;

// That of the calling thread; -1 if it is in no arena.
CORBEL_EXPORT int current_slot_index() noexcept;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ARENA_PLACE_HPP
