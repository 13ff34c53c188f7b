// SPDX-License-Identifier: Apache-2.0
// The inline paths of malloc and free, which serve nearly all calls. The call tree, with the slow
// paths below them:
//
//   allocate_fast    pop from the bin's list (pop_small)
//   └ allocate_slow       allocate.cpp  no heap yet: attach one (thread.cpp)
//     ├ take_listed       allocate.cpp  pop a medium block, or take the slab's freed blocks
//     ├ prepare_refill    allocate.cpp  receive remote frees (remote.cpp), flush, purge
//     ├ refill            bin.cpp       find a slab with blocks
//     │ ├ ready_blocks    slab.cpp      recommit blocks, or carve new ones
//     │ │ └ commit_blocks slab_pages.cpp
//     │ ├ adopt_slab      orphans.cpp   a slab whose heap was taken apart
//     │ └ new_slab        slab.cpp      a span of the span heap
//     └ allocate_large    large.cpp     a span of its own
//
//   deallocate_fast  push onto the slab's list (push_own)
//   ├ slab_emptied        bin.cpp       keep the slab or give it to the span heap
//   └ deallocate_slow     deallocate.cpp
//     ├ free_owned        bin.cpp       the slab was full, or the block lies in its later units
//     ├ free_remote       deallocate.cpp the block belongs to another thread: borrow or send it
//     ├ free_large        large.cpp
//     └ free_foreign      foreign.cpp
#pragma once

#include <cstddef>

#include "alloc/heap/bin.hpp"
#include "alloc/heap/call_kind.hpp"
#include "alloc/heap/heap.hpp"
#include "alloc/map/page_map.hpp"

namespace corbel::alloc {

// The last argument says which function the program called.
CORBEL_PRIVATE_API void* allocate_slow(std::size_t size, Origin origin) noexcept;
CORBEL_PRIVATE_API void deallocate_slow(void* block, Span* span,
                                        arch::TwoWords<Release> release) noexcept;

// Pops a block from the list of the bin for `size`. nullptr if the list is empty or the size is not
// small: then allocate_slow() must serve the request.
inline void* pop_small(std::size_t size) {
  if (size > kSmallMax) [[unlikely]]
    return nullptr;
  Heap* heap = heap_of_thread();
  Bin* bin = small_bin(heap, size);
  Block* block = bin->list;
  if (block == nullptr) [[unlikely]]
    return nullptr;
  bin->list = block->next;
  note_use(heap);
  return block;
}

inline void* allocate_fast(std::size_t size, Origin origin = Origin::kMalloc) {
  void* block = pop_small(size);
  return block != nullptr ? block : allocate_slow(size, origin);
}

// Frees a block by pushing it onto the list of `slab`, the descriptor of the unit that the block
// lies in. Returns false, and does nothing, if that is not the first unit of a slab of this thread
// with blocks to give: then deallocate_slow() must free the block.
inline bool push_own(Span* slab, void* p) {
  Heap* heap = heap_of_thread();
  if (slab->tag() != heap->tag()) [[unlikely]]
    return false;
  Block* block = static_cast<Block*>(p);
  block->next = slab->blocks.freed;
  slab->blocks.freed = block;
  if (slab->blocks.used.decrement() == 0) [[unlikely]]
    slab_emptied(heap, slab);
  note_use(heap);
  return true;
}

inline void deallocate_fast(void* p, arch::TwoWords<Release> release = kFreed) {
  Span* slab = find_span(p);
  if (!push_own(slab, p)) deallocate_slow(p, slab, release);
}

}  // namespace corbel::alloc
