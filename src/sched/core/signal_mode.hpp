// SPDX-License-Identifier: Apache-2.0
// Whether every push must call signal_new_task, even if no thread is parked: where the system has
// no process barrier, the call is the pusher's fence; where tasks are traced, it measures the fork.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sched {

// Set, if at all, before the first thread exists.
inline constinit std::atomic<bool> signal_always{false};

inline bool always_signals() {
  return signal_always.load(std::memory_order_relaxed);  // relaxed: constant once threads exist
}

// Stands in for an arena's wake flag and for the count of waiters in threads that always signal.
inline constinit std::atomic<std::uint32_t> always_set{1};

}  // namespace corbel::sched
