// SPDX-License-Identifier: Apache-2.0
#include <corbel/task_scheduler_observer.hpp>

#include "sched/arena/arena.hpp"
#include "sched/arena/observers.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {

void task_scheduler_observer::observe(bool state) {
  if (state == is_observing()) return;
  if (state) {
    sched::Thread& t = sched::Thread::current();
    detail::arena_handle* const of =
        !is_global_ && arena_ != nullptr ? &arena_->use() : nullptr;  // may throw
    auto* const o = new detail::observation;
    o->observer = this;
    if (!is_global_) {
      o->arena = of != nullptr ? &reinterpret_cast<sched::Arena&>(*of) : t.arena;
      sched::thread_pool.add_reference(*o->arena);
    }
    observation_.store(o, std::memory_order_relaxed);  // relaxed: one thread at a time
    sched::Observers& list = is_global_ ? sched::observers : o->arena->observers();
    list.add(*o);
    if (is_global_) {
      list.enter(t, t.seen_global);
    } else if (t.arena == o->arena) {
      list.enter(t, t.slot->seen);
    }
  } else {
    // relaxed: one thread at a time
    detail::observation* const o = observation_.exchange(nullptr, std::memory_order_relaxed);
    (o->arena == nullptr ? sched::observers : o->arena->observers()).remove(*o);
    if (o->arena != nullptr) sched::thread_pool.release(*o->arena);
    delete o;
  }
}

}  // namespace corbel
