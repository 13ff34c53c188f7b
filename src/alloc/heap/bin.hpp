// SPDX-License-Identifier: Apache-2.0
// How slabs move through the lists of a bin:
//
//            new, adopted                        refill finds no block left
//   span heap ──────────► current ─────────────────────────────► full
//       ▲                    ▲                                     │ a block is freed
//       │ used == 0          │ first in the list                   ▼
//       └──────────────── available ◄───────────────────────────────
//
// Only the thread that owns the heap may call a function here. The owner of the orphan heap is the
// thread that holds orphans_lock.
#pragma once

#include <cstddef>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/slab.hpp"

namespace corbel::alloc {

// Whether the slab counts towards Heap::empty_units, the empty slabs that a heap keeps. An empty
// current slab of one unit does not count, so the bin always keeps it. A larger one counts: one
// such slab kept in every bin would add up to megabytes.
inline bool counts_as_empty(const Bin* bin, const Span* slab) {
  return slab->blocks.used.get() == 0 && slab->blocks.carved.get() != 0 &&
         (slab != bin->current || slab->units > 1);
}

// Removes the first block of the current slab's free list and returns it, and moves the other
// blocks to the bin's list. Requires: the slab's free list is not empty, the bin's list is.
inline Block* take_all_freed(Heap* heap, Bin* bin) {
  Span* const slab = bin->current;
  if (counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
  Block* const block = slab->blocks.freed;
  check_link(slab, block);
  // A count that has passed 0: more blocks were freed than the slab has.
  if (slab->blocks.used.get() > slab->blocks.carved.get()) [[unlikely]]
    die_of_link(block);
  slab->blocks.freed = nullptr;
  slab->blocks.used.set(slab->blocks.carved.get() - slab->decommitted.blocks);
  bin->list = block->next;
  return block;
}

// To be called after take_all_freed() in a heap with a sampler: charges the bin for the `count`
// blocks that were taken, and gives those back that do not lie before the next point
// (sampling.hpp). Returns `first`, the block that take_all_freed() has returned; nullptr if all
// went back, because a sample is due.
Block* charge_freed(Heap* heap, Bin* bin, Block* first, std::uint32_t count);

// Like take_all_freed(). nullptr if a sample is due.
inline Block* take_freed(Heap* heap, Bin* bin) {
  const std::uint32_t used = bin->current->blocks.used.get();
  Block* const first = take_all_freed(heap, bin);
  if (heap->sampler == nullptr) [[likely]]
    return first;
  return charge_freed(heap, bin, first, bin->current->blocks.used.get() - used);
}

// Refills a bin whose list is empty: returns one block and puts more on the list, if there are
// more. Sets `zeroed` to whether the block reads as zeros. nullptr when a limit left no room for
// `shortage` bytes or, if that is 0, when memory is exhausted. Requires: no sample is due.
Block* refill(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage);

// Frees blocks of a slab that `heap` owns; the slab may be the current one or in either list.
void free_owned(Heap* heap, const Batch& batch);

// To be called when the last used block of a slab was freed. Keeps the slab, or gives it back to
// the span heap if the heap has enough empty slabs.
CORBEL_PRIVATE_API void slab_emptied(Heap* heap, Span* slab) noexcept;

// Returns the blocks on the bin's own list, not borrowed ones, to the current slab, and moves that
// slab to a list, or to the span heap if it is empty. The bin has no current slab then.
void return_current(Heap* heap, Bin* bin);

// Gives every empty slab of `heap` back to the span heap. Returns whether there was one.
bool release_empty_slabs(Heap* heap);

}  // namespace corbel::alloc
