// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/debug_layout.hpp"

#include <iterator>

#include "base/debug_layout.hpp"
#include "sched/pool/thread_pool.hpp"

// Members of classes with private ones: not portable, but both compilers do it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace corbel {
namespace detail {

struct debug_access {
  static constexpr std::size_t kTop = offsetof(task_deque, top_);
  static constexpr std::size_t kBottom = offsetof(task_deque, bottom_);
  static constexpr std::size_t kRing = offsetof(task_deque, ring_);
  static constexpr std::size_t kRingMask = offsetof(task_deque::ring, mask);
  static constexpr std::size_t kRingEntries = sizeof(task_deque::ring);
};

}  // namespace detail

namespace sched {

struct DebugAccess {
  using Deque = detail::debug_access;
  static constexpr std::size_t kWaitNode = offsetof(Thread, wait_node);
  using WaitNode = decltype(Thread::wait_node);
  static constexpr std::size_t kPlan = offsetof(Arena, plan_);

  static constexpr DebugNumber kNumbers[] = {
      {"ThreadPool.arenas", offsetof(ThreadPool, arenas_)},
      {"ThreadPool.threads", offsetof(ThreadPool, threads_)},
      {"ThreadPool.active", offsetof(ThreadPool, active_)},
      {"ThreadPool.requests", offsetof(ThreadPool, requests_)},
      {"ThreadPool.max_active", offsetof(ThreadPool, max_active_)},
      {"Arena.next", offsetof(Arena, next)},
      {"Arena.width", kPlan + offsetof(ArenaPlan, width)},
      {"Arena.reserved", kPlan + offsetof(ArenaPlan, reserved)},
      {"Arena.priority", kPlan + offsetof(ArenaPlan, priority)},
      {"Arena.workers", offsetof(Arena, workers)},
      {"Arena.requested_workers", offsetof(Arena, requested_workers)},
      {"Arena.references", offsetof(Arena, references)},
      {"Arena.searching", offsetof(Arena, searching)},
      {"Arena.slot_count", offsetof(Arena, slot_count_)},
      {"Arena.slots", offsetof(Arena, slots_)},
      {"Arena.queued", offsetof(Arena, queue_) + offsetof(TaskQueue, length_)},
      {"Slot", sizeof(Slot)},
      {"Slot.occupant", offsetof(Slot, occupant)},
      {"Slot.tasks", offsetof(Slot, tasks)},
      {"Slot.mailed", offsetof(Slot, mail) + offsetof(TaskQueue, length_)},
      {"Slot.isolation_deques", offsetof(Slot, isolation_deques)},
      {"IsolationDeque.tasks", offsetof(IsolationDeque, tasks)},
      {"IsolationDeque.next", offsetof(IsolationDeque, next)},
      {"Deque.top", Deque::kTop},
      {"Deque.bottom", Deque::kBottom},
      {"Deque.ring", Deque::kRing},
      {"Ring.mask", Deque::kRingMask},
      {"Ring.entries", Deque::kRingEntries},
      {"Task.run", offsetof(task_base, run)},
      {"Thread.system_id", offsetof(Thread, system_id)},
      {"Thread.is_worker", offsetof(Thread, is_worker)},
      {"Thread.arena", offsetof(Thread, arena)},
      {"Thread.slot", offsetof(Thread, slot)},
      {"Thread.waits", offsetof(Thread, waits)},
      {"Thread.next_parked", kWaitNode + offsetof(WaitNode, next)},
      {"Thread.parked_key", kWaitNode + offsetof(WaitNode, key)},
      {"ParkedThreads.first", offsetof(ParkedThreads, first_)},
  };
  static constexpr DebugAddress kAddresses[] = {
      {"thread_pool", &thread_pool},
      {"parked_threads", &parked_threads},
  };
};

struct SchedulerLayout
    : DebugLayout<std::size(DebugAccess::kNumbers), std::size(DebugAccess::kAddresses)> {};

constinit const SchedulerLayout debug_layout{
    debug_layout_of(DebugAccess::kNumbers, DebugAccess::kAddresses)};

}  // namespace sched
}  // namespace corbel
