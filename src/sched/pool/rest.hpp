// SPDX-License-Identifier: Apache-2.0
// Rests: workers that sleep in a wait. pool/thread_pool.cpp defines these functions.
#pragma once

namespace corbel::sched {

enum class Rest {
  kWaiting,    // its task continues when the wait ends
  kSuspended,  // tasks are suspended on its other stacks: it cannot leave the arena
};

// Called by a worker that is about to sleep in a wait. Until end_rest() the thread limit allows
// another worker in its place: any for kSuspended, and for kWaiting one that must come
// (must_have_worker).
void begin_rest(Rest rest);

// Called by the worker when it has been woken. If another one has taken its place, more workers are
// awake than the thread limit allows until one of them has finished its task and leaves.
void end_rest(Rest rest);

}  // namespace corbel::sched
