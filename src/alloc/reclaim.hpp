// SPDX-License-Identifier: Apache-2.0
// Getting memory back from the allocator's own caches.
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"

namespace corbel::alloc {

// Empties what the thread holds: its outbox, its inbox, the lists of its bins, its empty slabs.
// True if there was anything. `heap` may be nullptr.
bool flush_thread(Heap* heap);

// Gives memory back, cheapest first, until the footprint is at most `target`; true if it is. `heap`
// is the calling thread's or nullptr, `kept` as in SpanRequest. The caller holds no lock.
bool make_room(Heap* heap, std::size_t target, const Span* kept);

// True from request_flush() on until the thread gives back what it keeps: flush_thread().
bool flush_is_wanted(const Heap* heap);

// Asks every thread to do so when it needs memory next.
void request_flush();

// Everything that can be found before memory is declared exhausted. True if a new attempt is
// worth while.
bool reclaim(Heap* heap);

}  // namespace corbel::alloc
