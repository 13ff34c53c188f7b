// SPDX-License-Identifier: Apache-2.0
// Where a watched block lies in the raw block that it gets from the allocator.
//
//   ordinary:  | redzone | block | redzone |
//   guarded:   | guard page | redzone | block | gap | guard page |
//
// A guarded block has a span of its own. It ends at the second guard page, or as close to it as its
// alignment allows; what is left over is a redzone too.
#pragma once

#include <cstddef>

#include "alloc/check/ledger.hpp"

namespace corbel::alloc {

// Gets a raw block for a block of `size` bytes and records its place, size and alignment: all of
// the record but its state, stacks, threads and origin. Sets `zeroed` to whether the block reads as
// zeros. Fills the redzones. Protects the guard pages; if the system refuses, as it does when the
// process has too many mappings, the block is not guarded. An empty reference if there is no
// memory. Requires: the thread is in an InsideAllocator.
BlockRef get_raw_block(std::size_t size, std::size_t alignment, bool* zeroed);

// Gives a raw block back, and sets the state to kReleased. Requires: the thread is in an
// InsideAllocator, and the state is kChanging.
void give_raw_block(const BlockRef& block);

// Whether a block can be resized where it is: the raw block is large enough, and not too large.
bool fits_in_place(const BlockRef& block, std::size_t size);

// Changes the recorded size of the block, and moves the redzone after it.
void resize_in_place(const BlockRef& block, std::size_t size);

// The first byte of a redzone that has been changed; nullptr if they are intact.
char* find_changed_redzone(const BlockRef& block);

// Makes a guarded block inaccessible and gives its pages back, until its raw block is given back.
// False if the system refuses.
bool protect(const BlockRef& block);

}  // namespace corbel::alloc
