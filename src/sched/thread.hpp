// SPDX-License-Identifier: Apache-2.0
// A thread that takes part: one of the program's or one of the library's own.
#pragma once

#include <corbel/detail/task.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "sched/parking.hpp"

namespace corbel::sched {

using detail::context_node;
using detail::task_base;
using detail::task_deque;

class Arena;
class Fibers;
class Place;
struct Slot;
struct Thread;

// Which tasks a thread may run while it waits: those of its own region only. Every call of
// this_task_arena::isolate is a region; kNoRegion lies outside of all of them and may run any.
using Region = std::uint64_t;
inline constexpr Region kNoRegion = 0;

// What a thread has while it stands in a place and on a stack, and must keep when it goes
// elsewhere.
struct Standing {
  Arena* arena = nullptr;
  Slot* slot = nullptr;
  const std::atomic<std::uint32_t>* bell = nullptr;
  task_deque* tasks = nullptr;
  Region region = kNoRegion;
  context_node* context = nullptr;
  detail::classic_position classic;
  detail::group_task* running = nullptr;
  bool has_floating_point = false;
  unsigned waits = 0;
  const Place* place = nullptr;

  static Standing of(const Thread& t);
  void give_to(Thread& t) const;
};

// Never freed, only used again for another thread: who wakes a sleeper may be late.
struct Thread : detail::worker {
  Arena* arena = nullptr;
  Slot* slot = nullptr;
  Region region = kNoRegion;
  context_node root;  // of what runs outside of all tasks
  BasicBed<Thread, std::atomic> bed;
  std::uint32_t random = 1;
  bool is_own = false;              // the library's, not the program's
  Arena* implicit_arena = nullptr;  // of a thread of the program
  std::uint64_t seen_of_all = 0;    // the last of the observers of all arenas; see Slot::seen
  unsigned waits = 0;               // one within the other
  const Place* place = nullptr;     // the innermost that the stack has come from
  Fibers* fibers = nullptr;         // once a task was suspended in this thread
  void* classic_home = nullptr;     // of src/compat/sched; the next thread goes on with it
  Thread* next_unused = nullptr;

  // Numbers that are random enough to choose a victim by (xorshift; G. Marsaglia, 2003).
  std::uint32_t next_random() {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return random;
  }

  static Thread& current() { return static_cast<Thread&>(detail::current_worker()); }
  // nullptr before the thread's first use of the library.
  static Thread* current_or_null() { return static_cast<Thread*>(detail::this_worker); }
};

inline Standing Standing::of(const Thread& t) {
  return {t.arena,   t.slot,    t.bell,
          t.tasks,   t.region,  t.context,
          t.classic, t.running, t.has_floating_point,
          t.waits,   t.place};
}

inline void Standing::give_to(Thread& t) const {
  t.arena = arena;
  t.slot = slot;
  t.bell = bell;
  t.tasks = tasks;
  t.region = region;
  t.context = context;
  t.classic = classic;
  t.running = running;
  t.has_floating_point = has_floating_point;
  t.waits = waits;
  t.place = place;
}

}  // namespace corbel::sched
