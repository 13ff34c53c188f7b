// SPDX-License-Identifier: Apache-2.0
// The descriptor of a run of units: a slab, a large block, or a free span.
//
// Descriptors lie in tables of their own, never beside the blocks: memory that the program does
// not touch is not touched by the allocator either, and headers do not all fall into the same
// cache set.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/size_class.hpp"
#include "sync/owner_counter.hpp"
#include "sync/plain_load.hpp"

namespace corbel::alloc {

// A free block holds the link to the next one.
struct Block {
  Block* next;
};

// What `Span::tag()` says. Values from kFirstHeap on are the address of the owning heap, plus
// kFull. A free compares the tag with the thread's own heap and nothing else; every other case
// differs.
namespace span_tag {
inline constexpr std::uintptr_t kForeign = 0;   // not our memory
inline constexpr std::uintptr_t kInterior = 2;  // ours, but no block begins or is looked up here
inline constexpr std::uintptr_t kFollower = 4;  // a later unit of a slab
inline constexpr std::uintptr_t kLarge = 6;     // first unit of a large block
inline constexpr std::uintptr_t kFree = 8;      // first or last unit of a free span
inline constexpr std::uintptr_t kFirstHeap = 64;
inline constexpr std::uintptr_t kFull = 1;  // the slab has nothing to give: a free must requeue it
}  // namespace span_tag

// The blocks of a slab. Each is either uncarved, or on `freed`, or purged, or used; a used one is
// with the program, in some thread's outbox, or on the list of its bin if this is the bin's current
// slab; a purged one is free and on no list, because it overlaps a purged page (slab_pages.hpp):
//   used + length(freed) + purged.blocks == carved <= capacity
//   purged.blocks == carved blocks that overlap a page with its bit in some unit's purged.pages
struct SlabBlocks {
  Block* freed;
  sync::OwnerCounter used;
  sync::OwnerCounter carved;
};

// What is purged of a slab, of the pages that were entered.
struct SlabPurged {
  std::uint16_t pages;   // in every unit: bit i stands for its i-th 4 KiB
  std::uint16_t blocks;  // in the first unit
};

// When the slab was last looked at among the orphans (OrphanVisit).
struct SlabVisit {
  static constexpr std::uint16_t kNever = 0xffff;
  std::uint16_t used;  // blocks used then, or kNever
  std::uint16_t number;
};

// The neighbours of a free span in the order in which spans were freed.
struct PurgeOrder {
  struct Span* older;
  struct Span* newer;
};

// One per unit of address space. All of it is valid in the first unit of a slab, of a large block
// and of a free span; in a slab's later units `tag`, `head_distance` and `purged.pages` are, in the
// last unit of a free span `tag` and `units`.
struct alignas(kCacheLine) Span {
  std::atomic<std::uintptr_t> tag_word;
  union {
    SlabBlocks blocks;       // a slab
    PurgeOrder purge_order;  // a free span
  };
  Span* next;  // a slab: in a list of its bin; a free span: in its bucket
  Span* prev;
  std::uint32_t unit;  // its own address / kUnit; set in every unit that is ours
  std::uint32_t units;
  union {
    std::uint32_t head_distance;  // a later unit of a slab: in units, back to the first
    std::uint32_t entered;        // a slab: so many bytes from its beginning are in the footprint
  };
  union {
    SlabPurged purged;          // a slab
    std::uint32_t dirty_units;  // a free span: those with a page that may be resident
  };
  union {
    SlabVisit visit;         // a slab
    std::uint32_t freed_at;  // a free span: os::now_ms(), cut to 32 bits
  };
  union {
    std::uint8_t size_class;  // a slab
    bool all_dirty;           // a free span: known that every page is dirty
  };
  // The system may not treat this unit and the one before as one.
  std::atomic<bool> mapping_begins;
  bool zeroed;  // a free span: no unit is dirty; a slab: all uncarved blocks read as zeros
  // In the first descriptor of a page of them: the page is in the footprint (page_map.cpp).
  std::atomic<bool> page_is_counted;

  char* start() const { return static_cast<char*>(pointer_to(std::uintptr_t(unit) * kUnit)); }
  std::size_t bytes() const { return std::size_t(units) * kUnit; }
  // relaxed both: a block's address reaches another thread only through the program, whose own
  // synchronisation then orders the tag before the look-up; a change of owner is noticed late and
  // handled (remote.hpp); and free spans are read and written under the span heap's lock.
  std::uintptr_t tag() const { return sync::plain_load(tag_word); }
  void set_tag(std::uintptr_t value) { tag_word.store(value, std::memory_order_relaxed); }

  // relaxed both: who maps the memory before this unit says so while its owner may just be giving
  // it up; said too often, it costs a move in two steps.
  bool begins_mapping() const { return mapping_begins.load(std::memory_order_relaxed); }
  void set_begins_mapping(bool value) { mapping_begins.store(value, std::memory_order_relaxed); }

  bool is_full() const { return (tag() & span_tag::kFull) != 0; }

  const SizeClass& layout() const { return kSizeClasses[size_class]; }
};
static_assert(sizeof(Span) == kCacheLine);

}  // namespace corbel::alloc
