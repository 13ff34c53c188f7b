// SPDX-License-Identifier: Apache-2.0
// Getting memory back from the allocator's own caches.
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"

namespace corbel::alloc {

// Empties what the thread holds: its outbox, its inbox, the lists of its bins, its empty slabs.
// True if there was anything. `heap` may be nullptr.
bool flush_thread(Heap* heap);

// Everything that can be found before memory is declared exhausted. True if a new attempt is
// worth while.
bool reclaim(Heap* heap);

}  // namespace corbel::alloc
