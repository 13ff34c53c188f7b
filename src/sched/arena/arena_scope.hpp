// SPDX-License-Identifier: Apache-2.0
// A thread's stay in another arena, from entering it to returning to its old slot.
#pragma once

#include <cstdint>

#include "sched/arena/binding.hpp"
#include "sched/core/thread.hpp"

namespace corbel::sched {

// Saves the thread's position and restores it at the end. In between the thread may enter another
// arena.
class ArenaScope {
 public:
  explicit ArenaScope(Thread& t);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

  // The thread has entered another arena, in which it is in no task. The destructor leaves it.
  void begin();

  // Whether the thread will come back to that slot when this scope, or one around it, ends.
  bool returns_to(const Slot& slot) const {
    return outer_.slot == &slot ||
           (outer_.arena_scope != nullptr && outer_.arena_scope->returns_to(slot));
  }

 private:
  Thread& thread_;
  bool is_in_another_ = false;
  Binding binding_;
  bool sets_floating_point_ = false;
  std::uint32_t floating_point_ = 0;  // of the thread, if the arena has others
  const ThreadPosition outer_;
};

}  // namespace corbel::sched
