// SPDX-License-Identifier: Apache-2.0
// The helper thread, which gives memory back when no other thread calls the allocator.
//
// Normally the threads that call the allocator also give memory back. When all of them sleep or
// have ended, what they have freed would stay resident. So a process that has had several threads
// with heaps at once, and has mapped more than a few MiB or has many such threads, gets a thread
// named "corbel". Once per purge delay, it
//   - takes over the heaps of idle threads, decommits free pages of their slabs, and purges what is
//     due elsewhere,
//   - reads the container's limits.
// If there are many heaps and new threads keep coming, it takes heaps over sooner. It works as long
// as there is something to do or threads allocate. Then it parks, until a slow path wakes it. In an
// idle process it does not run.
//
// The helper is started in malloc, never in free: the C library calls free while it holds locks
// that starting a thread needs (the lock of its list of unused stacks).
//
// If the main thread has left by pthread_exit, the C library ends the process when the last thread
// ends, and it counts the helper. So the main thread's exit hook ends the helper for good and waits
// for it, where it may (os::kExitHooksMayWait). If the main thread has no exit hook, no helper is
// started.
#pragma once

#include <cstdint>

#include "alloc/map/policy_hooks.hpp"

namespace corbel::alloc {

// The values of helper_word. Odd: the next slow path has something to do (helper_is_waiting()).
enum class Helper : std::uint32_t {
  kNone = 0,
  kWanted = 1,  // the next slow path that may start a thread starts it
  kStarting = 2,
  kParked = 3,
  kAwake = 4,
  kEnded = 6,  // ended for good
};

// Resets the state in the child of a fork, which has no helper thread and only one thread.
void forget_helper_after_fork();

Helper helper_state();

}  // namespace corbel::alloc
