// SPDX-License-Identifier: Apache-2.0
// Thread objects are kept when their threads end, and reused.
#pragma once

#include <cstdint>

#include "sched/core/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

// Returns an object for a thread that is in no arena yet: `kept`, which the thread has had before
// and whose classic state it keeps, or any if that is nullptr. Throws bad_alloc.
Thread& make_thread(Thread* kept = nullptr);
// Ends the use of the object by a thread that keeps it.
void clear_thread(Thread& t);
// Does that, and lets another thread have the object.
void unmake_thread(Thread& t);

// How many tasks have been stolen since the process began. May be called in a signal handler.
std::uint64_t stolen_tasks();

// For the fork handlers.
sync::Lock& unused_threads_lock();

}  // namespace corbel::sched
