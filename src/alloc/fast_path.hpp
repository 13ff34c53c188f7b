// SPDX-License-Identifier: Apache-2.0
// The inline paths of malloc and free. Everything a program does most of the time is here; the
// call tree below it:
//
//   allocate_fast    pop from the bin's list
//   └ allocate_slow       allocate.cpp  no heap yet: make one (thread.cpp)
//     ├ take_listed       allocate.cpp  pop a medium block, or take over what was freed meanwhile
//     ├ refill            slab.cpp      take over a slab's freed blocks, or carve new ones
//     │ ├ receive         remote.cpp    blocks that other threads have freed
//     │ ├ adopt_slab      orphans.cpp   a slab of a thread that has ended
//     │ └ SpanHeap::allocate            a new slab
//     └ allocate_large    large.cpp     a span of its own
//
//   deallocate_fast  push onto the slab's list
//   ├ slab_emptied        slab.cpp      keep the slab or give it to the span heap
//   └ deallocate_slow     deallocate.cpp
//     ├ free_owned        slab.cpp      the slab was full, or the block lies in its later units
//     ├ send_later        remote.hpp    the block belongs to another thread
//     ├ free_large        large.cpp
//     └ the foreign handler
//
//   put_back_sized   push onto the bin's list, if the size leads there
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"
#include "alloc/page_map.hpp"

namespace corbel::alloc {

CORBEL_PRIVATE_API void* allocate_slow(std::size_t size) noexcept;
CORBEL_PRIVATE_API void deallocate_slow(Span* span, void* block) noexcept;
CORBEL_PRIVATE_API void slab_emptied(Heap* heap, Span* slab) noexcept;

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

// As deallocate_fast for a block of `size` bytes, 1 to kSmallMax, if it lies in the slab that its
// bin takes from: then it goes back onto the bin's list, without a look at the page map or at the
// slab, for which it is in use still. False, and nothing is done, if it does not, or the size is
// not the block's.
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
