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

  // If the thread has a slot in that arena, which it has left for the one where it is now, goes
  // back to that slot until the end of the scope. A second slot there might never become free,
  // since this thread holds the first.
  bool go_back_to(Arena& arena);
  // The thread has entered another arena, in which it is in no task. The destructor leaves it.
  void begin();

  // Whether the thread will come back to that slot when this scope, or one around it, ends.
  bool returns_to(const Slot& slot) const {
    return outer_.slot == &slot ||
           (outer_.arena_scope != nullptr && outer_.arena_scope->returns_to(slot));
  }

 private:
  // The slot in that arena to which the thread will come back; nullptr: none.
  Slot* slot_in(const Arena& arena) const;
  void set_position();

  Thread& thread_;
  bool has_taken_slot_ = false;
  Binding binding_;
  bool sets_floating_point_ = false;
  std::uint32_t floating_point_ = 0;  // of the thread, if the arena has others
  const ThreadPosition outer_;
};

}  // namespace corbel::sched
