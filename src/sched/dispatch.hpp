// SPDX-License-Identifier: Apache-2.0
// Running tasks, and waiting for them.
#pragma once

#include "sched/arena.hpp"

namespace corbel::sched {

// Runs a task that came from elsewhere, in its region.
void run_found(Thread& t, const Found& found);

// Runs what is left in the thread's own deque.
void drain(Thread& t);

// Lets the thread in that place of the arena run the task, if it can. Without memory for that it is
// spawned, which throws bad_alloc where there is none for that either.
void mail(Thread& t, task_base& task, unsigned slot);

// A region that no other call has.
Region new_region();

// As detail::wait_until, but whatever is notified of its end may be what ends the wait.
void wait_for_any(Thread& t, const void* key, bool (*done)(const void* key));

// Keeps the thread to the tasks of one region, and those it spawns in that region.
class RegionScope {
 public:
  RegionScope(Thread& t, Region region);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

 private:
  Thread& thread_;
  RegionDeque* deque_ = nullptr;
  task_deque* const outer_tasks_;
  const Region outer_region_;
  const int outer_held_locks_;
};

}  // namespace corbel::sched
