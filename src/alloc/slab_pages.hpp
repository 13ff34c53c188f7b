// SPDX-License-Identifier: Apache-2.0
// Pages of a slab in which no block is used are purged, though other blocks of the slab live on.
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"

namespace corbel::alloc {

// Purges such pages in all slabs of `heap`, the calling thread's. Returns the bytes given back.
std::size_t purge_pages(Heap* heap);

// The same for the slabs of the orphan heap; the caller holds no lock.
std::size_t purge_orphan_pages();

}  // namespace corbel::alloc
