// SPDX-License-Identifier: Apache-2.0
// Floating-point settings go with contexts: a task runs with those of the nearest context from its
// own upwards that has some, else with those of its arena.
#pragma once

#include <cstdint>

#include <corbel/task_group_context.hpp>

#include "sched/thread.hpp"

namespace corbel::sched {

// Whether the thread has to look which settings a task of that context needs.
inline bool needs_floating_point(const Thread& t, const context_node& context) {
  // relaxed: set before the context has tasks
  return t.has_floating_point ||
         (context.state.load(std::memory_order_relaxed) & context_node::kFloatingPoint) != 0;
}

// The context whose settings these are; nullptr: those of the arena.
const task_group_context* floating_point_source(const context_node& context);

// Gives the thread the settings for a task of that context, and takes them back.
class FloatingPointScope {
 public:
  FloatingPointScope(Thread& t, const context_node& context);
  ~FloatingPointScope();
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

 private:
  Thread& thread_;
  const std::uint32_t before_;
  const bool had_;
};

}  // namespace corbel::sched
