// SPDX-License-Identifier: Apache-2.0
// Which pages of a slab are committed.
//
// The pages of new blocks are committed when the blocks are carved. Later, pages that no used block
// overlaps can be decommitted while other blocks of the slab are in use. A block on a free list
// holds the link to the next one, so it must not overlap a decommitted page. Blocks that do are
// removed from the list and only counted (SlabBlocks). When the list is empty they come back, a
// page at a time, before new blocks are carved:
//
//   on the free list ── decommit_free_pages() ──► decommitted ── recommit_blocks() ──► with the bin
//
// Decommitting walks the free list and makes a system call for each range of pages. So it is never
// done on the ordinary paths of malloc and free: only where memory is reclaimed, and only to slabs
// that no thread allocates from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/map/span.hpp"

namespace corbel::alloc {

// Consecutive blocks of a slab, by number.
struct BlockRange {
  std::uint32_t first;
  std::uint32_t count;
};

// Commits the pages of `next`, the next blocks to carve. If that takes a new page, the blocks are
// small, and there is room, commits `early` bytes in all where that is more. False when a limit
// left no room for `shortage` bytes, or, with a shortage of 0, because memory is exhausted.
bool commit_blocks(Span* slab, BlockRange next, std::size_t early, std::size_t* shortage);

// Commits the pages of the slab's first decommitted block. Returns in `blocks` that block and those
// after it that need no other page. Does not touch the memory of the blocks. False when a limit
// left no room for `shortage` bytes, or, with a shortage of 0, because memory is exhausted.
// Requires: the slab has decommitted blocks.
bool recommit_blocks(Span* slab, BlockRange* blocks, std::size_t* shortage);

// Decommits the pages of a slab that no used block overlaps. Returns the bytes given back.
// Requires: the slab is not a bin's current slab.
std::size_t decommit_free_pages(Span* slab);

}  // namespace corbel::alloc
