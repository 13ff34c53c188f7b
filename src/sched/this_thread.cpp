// SPDX-License-Identifier: Apache-2.0
// What a thread can find out about where it is.
#include <corbel/detail/arena_call.hpp>
#include <corbel/detail/arena_place.hpp>
#include <corbel/detail/tbb_task.hpp>

#include "sched/arena.hpp"
#include "sched/thread.hpp"

namespace corbel::detail {

context_node* current_context_node() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  if (t == nullptr || t->context == &t->root || t->context == &no_group) return nullptr;
  return t->context;
}

int current_slot_index() noexcept {
  const sched::Thread* const t = sched::Thread::current_or_null();
  return t == nullptr || t->slot == nullptr ? -1 : int(t->slot->index);
}

}  // namespace corbel::detail
