// SPDX-License-Identifier: Apache-2.0
// Running tasks and waiting for them.
#pragma once

#include "sched/arena/task_queue.hpp"
#include "sched/core/thread.hpp"

namespace corbel::sched {

// Runs a task that the thread did not take from its own deque, in the task's isolation scope.
void run_found(Thread& t, const FoundTask& found);

// Runs what is left in the thread's own deque.
void drain(Thread& t);

// Puts the task into the mailbox of that slot of the thread's arena. If there is no memory for
// that, the task is spawned, which may throw bad_alloc.
void mail(Thread& t, task_base& task, unsigned slot);

// Like detail::wait_until, but any notify() wakes the thread, not only one for `key`.
void wait_for_any(Thread& t, const void* key, bool (*done)(const void* key));

}  // namespace corbel::sched
