// SPDX-License-Identifier: Apache-2.0
// Pages of a slab in which no block is used are purged, though other blocks of the slab live on.
//
// A free block holds its link, so that a purged page can hold no block of the list: the blocks that
// overlap one leave it and are only counted (SlabBlocks). They come back a page at a time when the
// list has run out, before new blocks are carved:
//
//   on the list ── purge_slab() ──► purged ── restore() ──► with the bin
//
// It costs a walk through the list and a system call for each run of pages, so it is done when
// somebody asks for memory back, and to slabs that nobody allocates from, never on the way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/heap.hpp"

namespace corbel::alloc {

// Purges such pages in all slabs of `heap`, the calling thread's. Returns the bytes given back. The
// caller holds no lock.
std::size_t purge_pages(Heap* heap);

// The same for the slabs of the orphan heap; the caller holds no lock.
std::size_t purge_orphan_pages();

// The same for one slab, which is no bin's current one.
std::size_t purge_slab(Span* slab);

// Makes blocks ready again that were purged, those of a page or, if none lies within one, one
// block, of which nothing is touched. Returns the first; the others are on the bin's list. The slab
// is the bin's current one, the list empty, and there is such a block.
Block* restore(Bin* bin, Span* slab);

// What restore() brings into the footprint: for its caller to count, before.
std::size_t bytes_to_restore(Span* slab);

// Blocks from `first` on are about to be used: their pages no longer count as purged. The bytes are
// for the caller to count, before.
void unpurge(Span* slab, std::uint32_t first, std::uint32_t count);
std::size_t purged_under(Span* slab, std::uint32_t first, std::uint32_t count);

}  // namespace corbel::alloc
