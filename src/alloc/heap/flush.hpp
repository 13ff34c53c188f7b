// SPDX-License-Identifier: Apache-2.0
// Emptying the caches of a thread's heap.
#pragma once

#include "alloc/heap/heap.hpp"

namespace corbel::alloc {

// Empties the thread's outbox and inbox and the lists of its bins, and releases its empty slabs.
// Returns whether there was anything to flush. `heap` is the calling thread's heap or nullptr.
bool flush_thread(Heap* heap);

// Asks every thread to call flush_thread() before its next refill.
void request_flush();

// Whether request_flush() was called after the thread's last flush.
bool flush_is_wanted(const Heap* heap);

// Frees what other threads have sent to the thread, and flushes it if that is wanted. Requires: the
// caller is in a slow path.
void receive_and_flush(Heap* heap);

// A thread checks every so many refills of its bins, counting borrowed blocks as refills, whether
// free memory is due for purging. Otherwise a program that only reuses its blocks would never give
// back what it freed before.
inline constexpr std::uint32_t kRefillsPerPurge = 256;

}  // namespace corbel::alloc
