// SPDX-License-Identifier: Apache-2.0
// Slabs: spans cut into blocks of one size class, and their way through the lists of a bin.
//
//            new, adopted                        refill finds nothing left
//   span heap ──────────► current ─────────────────────────────► full
//       ▲                    ▲                                     │ first free of a block
//       │ used == 0          │ next in turn                        ▼
//       └──────────────── available ◄───────────────────────────────
//
// All of it is done by the thread that owns the heap; for the orphan heap by whoever holds its
// lock.
#pragma once

#include "alloc/heap.hpp"

namespace corbel::alloc {

// So many refills of a thread's bins, and it looks whether anything is due for purging.
inline constexpr std::uint32_t kRefillsPerPurge = 256;

// A bin keeps its current slab, even an empty one, if that has one unit. The larger ones count as
// kept: what lies idle there would add up to megabytes.
inline bool counts_as_empty(const Bin* bin, const Span* slab) {
  return slab->blocks.used.get() == 0 && slab->blocks.carved.get() != 0 &&
         (slab != bin->current || slab->units > 1);
}

// Hands all blocks on the current slab's list to the bin and returns the first.
inline Block* take_freed(Heap* heap, Bin* bin) {
  Span* const slab = bin->current;
  if (counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
  Block* const block = slab->blocks.freed;
  slab->blocks.freed = nullptr;
  slab->blocks.used.set(slab->blocks.carved.get() - slab->purged.blocks);
  bin->list = block->next;
  return block;
}

// A block for `bin`, whose list is empty, and more on its list. nullptr when there was no room to
// commit `shortage` bytes, or, if that is 0, when memory is exhausted. `zeroed` is set when the
// block reads as zeros but for its first word.
Block* refill(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage);

// Frees blocks of a slab that `heap` owns, in whatever list it is.
void free_owned(Heap* heap, const Run& run);

// Puts the blocks on the bin's list back and gives up its current slab.
void return_current(Heap* heap, Bin* bin);

// Gives every empty slab of `heap` back to the span heap. True if there was one.
bool release_empty_slabs(Heap* heap);

// Makes `slab`, which is in no list, part of `heap` and puts it in the list that suits it.
void adopt(Heap* heap, Span* slab);

// Whether `block`, which lies in `slab`, is the beginning of a carved block of it.
inline bool begins_block(const Span* slab, const void* block) {
  const auto offset = std::uint32_t(static_cast<const char*>(block) - slab->start());
  return slab->layout().block_at(offset) < slab->blocks.carved.peek();
}

// Ends the process because begins_block() says no.
[[noreturn]] void die_of_block(const char* function, const Span* slab, const void* block);

// Ends the process if `block` is not the beginning of a carved block of `slab`.
inline void check_block(const char* function, const Span* slab, const void* block) {
  if (!begins_block(slab, block)) [[unlikely]]
    die_of_block(function, slab, block);
}

}  // namespace corbel::alloc
