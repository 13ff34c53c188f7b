// SPDX-License-Identifier: Apache-2.0
// Getting memory back from the allocator's own caches.
#pragma once

#include <cstddef>

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

struct Heap;
struct Span;

// Gives memory back, cheapest first, until the footprint is at most `target`. Returns whether it
// is. `heap` is the calling thread's heap or nullptr, `kept` is SpanRequest::kept. Requires: the
// caller holds no lock.
bool make_room(Heap* heap, std::size_t target, const Span* kept);

// Reclaims all it can after the system has refused memory. Returns whether another attempt is
// worthwhile.
bool reclaim(Heap* heap);

// Decommits the free pages in all slabs of `heap`, the calling thread's heap. Returns the bytes
// given back. Requires: the caller holds no lock.
std::size_t purge_slabs(Heap* heap);

// Decommits the free pages in the slabs of the orphan heap. Returns the bytes given back. Requires:
// the caller holds no lock.
std::size_t purge_orphans();

// Gives all cached and free memory that this thread can reach back to the system, but for at most
// `keep` bytes of free memory. Returns the bytes given back.
CORBEL_PRIVATE_API std::size_t trim(std::size_t keep) noexcept;

}  // namespace corbel::alloc
