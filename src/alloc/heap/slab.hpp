// SPDX-License-Identifier: Apache-2.0
// A slab: a span cut into blocks of one size class. bin.hpp describes how slabs move through the
// lists of a bin, and slab_pages.hpp which pages of a slab are committed.
//
// Unless its comment says otherwise, only the thread that owns the slab's heap may call a function
// here. The owner of the orphan heap is the thread that holds orphans_lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/map/span.hpp"
#include "base/bits.hpp"

namespace corbel::alloc {

// Whether the slab has decommitted or uncarved blocks, which ready_blocks() makes usable.
inline bool has_unready_blocks(const Span* slab) {
  return slab->decommitted.blocks != 0 || slab->blocks.carved.get() < slab->layout().capacity;
}

inline bool has_blocks_to_give(const Span* slab) {
  return slab->blocks.freed != nullptr || has_unready_blocks(slab);
}

// Returns a new slab with the tag `tag`, which is in no list. `sparse` is SpanRequest::sparse.
// nullptr when a limit left no room for `shortage` bytes or, if that is 0, when memory is
// exhausted.
Span* new_slab(unsigned size_class, std::uintptr_t tag, bool sparse, std::size_t* shortage);

// Gives a slab without used blocks back to the span heap. Returns true if purge_due() should be
// called as soon as no lock is held.
bool release_slab(Span* slab);

// Commits and links blocks of a slab whose free list is empty, and counts them as used. Takes
// decommitted blocks first, so that the slab does not spread over more pages than it needs; if
// there are none, carves a page's worth of new blocks. Returns the first block and puts the others
// on `rest`. `early` as in commit_blocks(). Sets `zeroed` if the block reads as zeros. Returns
// nullptr when a limit left no room for `shortage` bytes, or, with a shortage of 0, because memory
// is exhausted. Requires: has_unready_blocks(slab), and `rest` is empty.
Block* ready_blocks(Span* slab, std::size_t early, Block** rest, bool* zeroed,
                    std::size_t* shortage);

// Whether `block`, an address in `slab`, is the beginning of a carved block. Any thread may ask.
inline bool begins_block(const Span* slab, const void* block) {
  const auto offset = std::uint32_t(static_cast<const char*>(block) - slab->start());
  return slab->layout().block_at(offset) < slab->blocks.carved.peek();
}

// Ends the process with a message: begins_block() has returned false.
[[noreturn]] void die_of_block(const char* function, const Span* slab, const void* block);

// Ends the process unless `block` is the beginning of a carved block of `slab`. Any thread may call
// it.
inline void check_block(const char* function, const Span* slab, const void* block) {
  if (!begins_block(slab, block)) [[unlikely]]
    die_of_block(function, slab, block);
}

// Whether `block`, which may be any value, is the beginning of a carved block of `slab`.
inline bool is_carved_block(const Span* slab, const void* block) {
  return address_of(block) - address_of(slab->start()) < slab->bytes() && begins_block(slab, block);
}

// Ends the process with a message: check_link() has found a link that leads elsewhere.
[[noreturn]] void die_of_link(const Block* block);

// A free block holds the link to the next one, and the program may have overwritten it after it has
// freed the block. Ends the process if the link in `block`, a free block of `slab`, leads to
// anything but another block of the slab. Slow paths call this before they follow a link.
inline void check_link(const Span* slab, const Block* block) {
  const Block* const next = block->next;
  if (next != nullptr && (next == block || !is_carved_block(slab, next))) [[unlikely]]
    die_of_link(block);
}

}  // namespace corbel::alloc
