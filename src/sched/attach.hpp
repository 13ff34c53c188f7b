// SPDX-License-Identifier: Apache-2.0
// How threads come and go.
#pragma once

#include "sched/thread.hpp"

namespace corbel::sched {

// A thread for the library's use, in no arena; and the end of it. Throws bad_alloc.
Thread& make_thread();
void unmake_thread(Thread& t);

// Makes the child of a fork find the library's state whole. Once, before any of its locks is taken;
// and behind the allocator's own, whose locks are taken after these: the C++ runtime has allocated
// by then.
void hook_forks();

// The arena in which the calling thread works unless the program says otherwise.
Arena& implicit_arena(Thread& t);

// Whether a thread is in no task and in no arena but its own; and whether the calling one is, and
// in no region either.
bool is_in_no_task(const Thread& t);
bool is_outside();

// Lets the calling thread, which is outside, begin anew with an arena of that width when it uses
// the library next; 0: as wide as the process may be.
void renew_thread(unsigned width);

}  // namespace corbel::sched
