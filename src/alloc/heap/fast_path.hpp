// SPDX-License-Identifier: Apache-2.0
// The inline paths of malloc and free, which serve nearly all calls. The call tree, with the slow
// paths below them:
//
//   allocate_fast    pop from the bin's list
//   └ allocate_slow       allocate.cpp  no heap yet: attach one (thread.cpp)
//     ├ take_listed       allocate.cpp  pop a medium block, or take the slab's freed blocks
//     ├ prepare_refill    allocate.cpp  receive remote frees (remote.cpp), flush, purge
//     ├ refill            bin.cpp       find a slab with blocks
//     │ ├ ready_blocks    slab.cpp      recommit blocks, or carve new ones
//     │ │ └ commit_blocks slab_pages.cpp
//     │ ├ adopt_slab      orphans.cpp   a slab of a thread that has ended
//     │ └ new_slab        slab.cpp      a span of the span heap
//     └ allocate_large    large.cpp     a span of its own
//
//   deallocate_fast  push onto the slab's list
//   ├ slab_emptied        bin.cpp       keep the slab or give it to the span heap
//   └ deallocate_slow     deallocate.cpp
//     ├ free_owned        bin.cpp       the slab was full, or the block lies in its later units
//     ├ send_later        remote.hpp    the block belongs to another thread
//     ├ free_large        large.cpp
//     └ free_foreign      foreign.cpp
//
//   put_back_sized   push onto the bin's list, if the block lies in the bin's current slab
#pragma once

#include <cstddef>

#include "alloc/heap/bin.hpp"
#include "alloc/heap/heap.hpp"
#include "alloc/map/page_map.hpp"

namespace corbel::alloc {

CORBEL_PRIVATE_API void* allocate_slow(std::size_t size) noexcept;
CORBEL_PRIVATE_API void deallocate_slow(Span* span, void* block) noexcept;

inline void* allocate_fast(std::size_t size) {
  if (size <= kSmallMax) [[likely]] {
    Heap* heap = heap_of_thread();
    Bin* bin = small_bin(heap, size);
    Block* block = bin->list;
    if (block != nullptr) [[likely]] {
      bin->list = block->next;
      note_use(heap);
      return block;
    }
  }
  return allocate_slow(size);
}

inline void deallocate_fast(void* p) {
  Span* slab = find_span(p);
  Heap* heap = heap_of_thread();
  if (slab->tag() == heap->tag()) [[likely]] {
    Block* block = static_cast<Block*>(p);
    block->next = slab->blocks.freed;
    slab->blocks.freed = block;
    if (slab->blocks.used.decrement() == 0) [[unlikely]]
      slab_emptied(heap, slab);
    note_use(heap);
    return;
  }
  deallocate_slow(slab, p);
}

// Frees a block by pushing it onto the list of the bin for `size`, if it lies in the bin's current
// slab. That needs neither the page map nor the slab, which counts blocks on the bin's list as
// used. Returns false, and does nothing, if the block does not lie in that slab, as when `size` is
// of another size class than the block. Requires: `size` is 1 to kSmallMax.
inline bool put_back_sized(void* p, std::size_t size) {
  Heap* heap = heap_of_thread();
  Bin* bin = small_bin(heap, size);
  if (address_of(p) >> kUnitBits != bin->unit) return false;
  Block* block = static_cast<Block*>(p);
  block->next = bin->list;
  bin->list = block;
  ++bin->put_backs;
  note_use(heap);
  return true;
}

}  // namespace corbel::alloc
