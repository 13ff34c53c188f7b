// SPDX-License-Identifier: Apache-2.0
// The slabs of sampled blocks. All threads share them, under samples_lock. Their tag is below those
// of heaps, so the fast path of free never takes one of their blocks.
#pragma once

#include "alloc/map/span.hpp"

namespace corbel::alloc {

// Returns a block of the class; nullptr if there is no memory for it.
void* take_from_sampled_slab(unsigned size_class);

// Puts a block of `slab` back. Returns true if the span heap should purge what is due
// (span_heap.purge_due()) as soon as no lock is held.
bool put_into_sampled_slab(Span* slab, void* block);

}  // namespace corbel::alloc
