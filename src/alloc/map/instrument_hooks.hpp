// SPDX-License-Identifier: Apache-2.0
// The calls from the lower rooms up into the instruments, which show or check what the program does
// with its memory: the heap profile, guarded blocks, full checks, leaks, the control socket. They
// are declared here and defined in the instruments' rooms. Without an instrument that is on, a
// program pays one test on slow paths.
#pragma once

#include "sync/lock.hpp"

namespace corbel::alloc {

// Called once, when the process is set up: read the instrument's environment variables and begin
// what they ask for. The caller holds no lock, and the calling thread has a heap.
// set_up_checks() may be called earlier and more than once: before the first malloc is served, in a
// thread without a heap.
void set_up_checks();    // check: every block is recorded
void set_up_sampling();  // sample: some blocks are recorded or guarded
void set_up_guards();    // guard: some blocks lie between guard pages; after set_up_checks()
void set_up_control();   // control: requests from the corbel command

// Called when the library is loaded, by its constructor: the profiler needs a thread.
void set_up_time_profile();  // time_profile

// Called when the main thread ends before the process: the C library ends the process with its last
// thread, which must be one of the program's, and counts the profiler's. Waits for its end.
void end_time_profile();  // time_profile

// Called by set_up_checks(), once: reads CORBEL_LEAKS. Whether every block is to be recorded.
bool set_up_leaks();  // leaks

// Called by a thread with its first heap, after set_up_process(), and when it ends. The first may
// call malloc; the thread has a heap.
void note_thread_begins();  // leaks
void note_thread_ends();

// Called in the child of a fork, which has a single thread.
void forget_record_takers();  // check

// Adds to the line about a misuse that ends the process what full checks know of `block`.
void add_to_death(const void* block);  // check

// The instruments' locks, each defined in its room. A fork takes them with the allocator's own
// (process.cpp).
extern sync::Lock checks_lock;  // check
inline constexpr unsigned kQuarantineLocks = 4;
extern sync::Lock quarantine_locks[kQuarantineLocks];  // check
extern sync::Lock samples_lock;                        // sample

}  // namespace corbel::alloc
