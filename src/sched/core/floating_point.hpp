// SPDX-License-Identifier: Apache-2.0
// Floating-point settings belong to contexts: a task runs with those of the nearest context, from
// its own upwards, that has some, else with those of its arena. A thread has those of its arena
// whenever it may run a task: a worker from its entry on, a thread of the program while it is in an
// ArenaScope, or in a parallel call (outermost_call).
#pragma once

#include <cstdint>

#include <corbel/task_group_context.hpp>

#include "sched/core/thread.hpp"

namespace corbel::sched {

// Whether the thread has to look up the settings for a task of that context.
inline bool needs_floating_point(const Thread& t, const context_node& context) {
  // relaxed: set before the context has tasks
  return t.has_floating_point ||
         (context.state.load(std::memory_order_relaxed) & context_node::kFloatingPoint) != 0;
}

// The context whose settings apply; nullptr: the arena's apply.
const task_group_context* floating_point_source(const context_node& context);

// Gives the thread the settings for a task of that context until the end of the scope. `of_arena`:
// the settings of its arena.
class FloatingPointScope {
 public:
  FloatingPointScope(Thread& t, const context_node& context, std::uint32_t of_arena);
  ~FloatingPointScope();
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

 private:
  Thread& thread_;
  const std::uint32_t before_;
  const bool had_;
};

}  // namespace corbel::sched
