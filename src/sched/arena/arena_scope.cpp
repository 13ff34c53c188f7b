// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/arena_scope.hpp"

#include "arch/arch.hpp"
#include "sched/arena/arena.hpp"
#include "sched/core/other_stacks.hpp"

namespace corbel::sched {

ArenaScope::ArenaScope(Thread& t) : thread_(t), outer_(ThreadPosition::of(t)) {}

Slot* ArenaScope::slot_in(const Arena& arena) const {
  if (outer_.arena == &arena) return outer_.slot;
  return outer_.arena_scope != nullptr ? outer_.arena_scope->slot_in(arena) : nullptr;
}

bool ArenaScope::go_back_to(Arena& arena) {
  Slot* const own = slot_in(arena);
  if (own == nullptr) return false;
  arena.use_slot(thread_, *own);
  set_position();
  return true;
}

void ArenaScope::begin() {
  has_taken_slot_ = true;
  set_position();
  thread_.arena->observe_entry(thread_);
}

void ArenaScope::set_position() {
  thread_.around = around_new_call(thread_);
  if (thread_.around == &some_task) thread_.awaited = nullptr;
  thread_.context = &thread_.root;
  thread_.running = nullptr;
  thread_.waits = 0;
  thread_.arena_scope = this;
  thread_.has_floating_point = false;
  floating_point_ = arch::floating_point();
  sets_floating_point_ = floating_point_ != thread_.arena->floating_point();
  if (sets_floating_point_) arch::set_floating_point(thread_.arena->floating_point());
  binding_.begin(thread_.arena->processors());
}

ArenaScope::~ArenaScope() {
  if (has_taken_slot_) {
    Arena& arena = *thread_.arena;
    if (thread_.fibers != nullptr) finish_stacks_in(*thread_.fibers, *thread_.slot);
    arena.observe_exit(thread_);
    // Tasks that the call has started and not waited for, and calls that wait for a slot.
    const bool leaves_work = !thread_.tasks->seems_empty() || arena.has_queued();
    arena.leave(thread_);
    if (leaves_work) request_worker(arena);
  }
  if (sets_floating_point_) arch::set_floating_point(floating_point_);
  outer_.restore_to(thread_);
}

}  // namespace corbel::sched
