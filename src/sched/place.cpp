// SPDX-License-Identifier: Apache-2.0
#include "sched/place.hpp"

#include "sched/fibers.hpp"
#include "sched/pool.hpp"

namespace corbel::sched {

Place::Place(Thread& t) : thread_(t), kept_(Standing::of(t)) {}

void Place::begin() {
  in_another_ = true;
  thread_.context = &thread_.root;
  thread_.running = nullptr;
  thread_.waits = 0;
  thread_.place = this;
  binding_.begin(thread_.arena->processors());
  thread_.arena->arrive(thread_);
}

Place::~Place() {
  if (in_another_) {
    Arena& arena = *thread_.arena;
    if (thread_.fibers != nullptr) thread_.fibers->let_others_leave(*thread_.slot);
    arena.depart(thread_);
    // What the call has started and not waited for; and what waits for a place.
    const bool leaves_work = !thread_.tasks->seems_empty() || arena.has_queued();
    arena.leave(thread_);
    if (leaves_work) pool.request(arena);
  }
  kept_.give_to(thread_);
}

}  // namespace corbel::sched
