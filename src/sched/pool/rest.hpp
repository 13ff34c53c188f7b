// SPDX-License-Identifier: Apache-2.0
// Rests of workers. pool/thread_pool.cpp defines these functions.
#pragma once

namespace corbel::sched {

// Called by a worker that is about to sleep and cannot leave its arena, because tasks are suspended
// on its other stacks. Until end_rest() it does not count against the thread limit: another worker
// may take its place.
void begin_rest();

// Called by the worker when it has been woken. If another one has taken its place, more workers are
// awake than the thread limit allows until one of them has finished its task and leaves.
void end_rest();

}  // namespace corbel::sched
