// SPDX-License-Identifier: Apache-2.0
// What loops ask of the arena.
#include <corbel/detail/loop.hpp>

#include "sched/dispatch.hpp"

namespace corbel::detail {

unsigned arena_width(const worker& w) noexcept {
  return static_cast<const sched::Thread&>(w).arena->width();
}

unsigned slot_index(const worker& w) noexcept {
  return static_cast<const sched::Thread&>(w).slot->index;
}

void mail_task(worker& w, task_base& t, unsigned slot) {
  sched::Thread& self = static_cast<sched::Thread&>(w);
  sched::mail(self, t, slot % self.arena->slot_count());
}

}  // namespace corbel::detail
