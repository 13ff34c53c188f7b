// SPDX-License-Identifier: Apache-2.0
// The descriptor of a span, which is a slab, a large block, or free.
//
// Descriptors are stored in tables of their own, never beside the blocks. So the allocator does not
// make pages resident that the program does not touch, and the descriptors do not all fall into the
// same cache set.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/size_class.hpp"
#include "sync/owner_counter.hpp"
#include "sync/plain_load.hpp"

namespace corbel::alloc {

// A free block holds the link to the next one.
struct Block {
  Block* next;
};

// The values of `Span::tag()`. A value from kFirstHeap on is the address of the heap that owns the
// slab, plus kFull if the slab is full. The fast path of free needs only one comparison, with the
// address of the thread's own heap: every case that it cannot handle has a different tag.
namespace span_tag {
inline constexpr std::uintptr_t kForeign = 0;   // not our memory
inline constexpr std::uintptr_t kInterior = 2;  // ours, but no block begins in this unit
inline constexpr std::uintptr_t kFollower = 4;  // a later unit of a slab
inline constexpr std::uintptr_t kLarge = 6;     // first unit of a large block
inline constexpr std::uintptr_t kFree = 8;      // first or last unit of a free span
inline constexpr std::uintptr_t kSampled = 10;  // first unit of a slab of sampled blocks
inline constexpr std::uintptr_t kGuarded = 12;  // a unit of the guard pool (guarding.hpp)
inline constexpr std::uintptr_t kFirstHeap = 64;
inline constexpr std::uintptr_t kFull = 1;  // the slab has no block to give: a free must move it
}  // namespace span_tag

// The blocks of a slab. Each is uncarved, on the list `freed`, decommitted, or used. A used block
// is allocated to the program, in an outbox or an inbox, borrowed (borrowed.hpp), or on the own
// list of the bin whose current slab this is. A decommitted block is free but on no list, because
// it overlaps a decommitted page (slab_pages.hpp). Invariants:
//   used + length(freed) + decommitted.blocks == carved <= capacity
//   decommitted.blocks == carved blocks that overlap a page with its bit in some unit's
//   decommitted.pages
struct SlabBlocks {
  Block* freed;
  sync::OwnerCounter used;
  sync::OwnerCounter carved;
};

// Which of a slab's first `committed` bytes are decommitted again.
struct SlabDecommitted {
  std::uint16_t pages;   // valid in every unit: bit i stands for the unit's i-th 4 KiB
  std::uint16_t blocks;  // valid in the first unit: the number of decommitted blocks
};

// The last visit to the slab while it was an orphan (OrphanVisit).
struct SlabVisit {
  static constexpr std::uint16_t kNever = 0xffff;
  std::uint16_t used;    // blocks used at that time, or kNever
  std::uint16_t number;  // of the visit
};

// The neighbours of a free span in the order in which spans were freed.
struct PurgeOrder {
  struct Span* older;
  struct Span* newer;
};

// There is one per unit of address space. All fields are valid in the first unit of a slab, a large
// block or a free span. In a later unit of a slab, only `tag`, `head_distance` and
// `decommitted.pages` are valid; in the last unit of a free span, only `tag` and `units`.
struct alignas(kCacheLine) Span {
  std::atomic<std::uintptr_t> tag_word;
  union {
    SlabBlocks blocks;       // a slab
    PurgeOrder purge_order;  // a free span
  };
  Span* next;  // of a slab: in a list of its bin; of a free span: in its bucket
  Span* prev;
  std::uint32_t unit;  // the address of this unit / kUnit; set in every unit that is ours
  std::uint32_t units;
  union {
    std::uint32_t head_distance;  // a later unit of a slab: how many units after the first
    std::uint32_t committed;      // a slab: the bytes from its beginning that have been committed
    std::uint32_t tail;  // a large block: the bytes at its end that are not in use (large.hpp)
  };
  union {
    SlabDecommitted decommitted;  // a slab
    std::uint32_t dirty_units;    // a free span: the number of units with a dirty page
  };
  union {
    SlabVisit visit;         // a slab
    std::uint32_t freed_at;  // a free span: os::now_ms(), cut to 32 bits
  };
  union {
    std::uint8_t size_class;  // a slab
    bool sampled;             // a large block: whether it is sampled (sampling.hpp)
    bool all_dirty;           // a free span: every page is dirty; false also if that is not known
  };
  // A kernel mapping may begin at this unit: no move of pages may extend across its start.
  std::atomic<bool> mapping_begins;
  bool zeroed;  // a free span: no unit is dirty; a slab: all uncarved blocks read as zeros
  // Valid in the first descriptor of each page of descriptors: whether that page is counted in the
  // footprint (page_map.cpp).
  std::atomic<bool> page_is_counted;

  char* start() const { return static_cast<char*>(pointer_to(std::uintptr_t(unit) * kUnit)); }
  std::size_t bytes() const { return std::size_t(units) * kUnit; }
  // relaxed both, for three reasons. A block's address reaches another thread only through the
  // program, whose own synchronisation orders the store of the tag before the look-up. A thread may
  // see a change of owner late (remote.hpp handles that). And the tags of free spans are read and
  // written under the span heap's lock.
  std::uintptr_t tag() const { return sync::plain_load(tag_word); }
  void set_tag(std::uintptr_t value) { tag_word.store(value, std::memory_order_relaxed); }

  // relaxed both: the thread that maps the memory before this unit may set the flag while this
  // unit's owner gives the unit up. A needless true only splits a move in two.
  bool begins_mapping() const { return mapping_begins.load(std::memory_order_relaxed); }
  void set_begins_mapping(bool value) { mapping_begins.store(value, std::memory_order_relaxed); }

  bool is_full() const { return (tag() & span_tag::kFull) != 0; }

  const SizeClass& layout() const { return kSizeClasses[size_class]; }
};
static_assert(sizeof(Span) == kCacheLine);

}  // namespace corbel::alloc
