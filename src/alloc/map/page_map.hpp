// SPDX-License-Identifier: Apache-2.0
// The page map: from any address to the descriptor of the unit it lies in.
//
// The root has an entry for each GiB of address space, each leaf a descriptor for each unit of its
// GiB. The root's pages become resident only when they are written. A leaf is mapped when the first
// chunk falls into its GiB, and is never unmapped. Readers need no lock, because an entry of the
// root changes only once. After its descriptors, a leaf has the page masks of its units
// (dirty_pages.hpp).
//
// A program that locks its memory (mlockall) locks whole tables. With a GiB for each leaf, the
// tables of a small process are as small as two levels can be.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/private_api.hpp"
#include "alloc/map/span.hpp"
#include "arch/arch.hpp"
#include "sync/plain_load.hpp"

namespace corbel::alloc {

inline constexpr unsigned kLeafBits = 30;
inline constexpr std::size_t kRootEntries = std::size_t(1) << (arch::kAddressBits - kLeafBits);
inline constexpr std::size_t kLeafEntries = std::size_t(1) << (kLeafBits - kUnitBits);

struct PageMap {
  // The distance of each leaf from `absent`, in bytes; 0 if there is no leaf. A look-up adds the
  // distance to the address of `absent`, so it needs no branch for a missing leaf.
  std::atomic<std::ptrdiff_t> distance[kRootEntries];
  // Stands for every missing leaf. It is never written: its zeros read as kForeign.
  Span absent[kLeafEntries];
  // Zeros too, for without_leaves().
  std::atomic<std::ptrdiff_t> no_distance[kRootEntries];

  // nullptr if there is no leaf yet.
  Span* leaf(std::size_t index) {
    // (1) acquire: sees the leaf mapped by (2) in page_map.cpp
    const std::ptrdiff_t d = distance[index].load(std::memory_order_acquire);
    return d == 0 ? nullptr : at(d);
  }
  Span* at(std::ptrdiff_t d) {
    return reinterpret_cast<Span*>(reinterpret_cast<char*>(absent) + d);
  }

  // The address of a PageMap in which no address is ours: together, `absent` and `no_distance` have
  // the zeros that a look-up reads in a map without leaves. void*, so that it is a constant.
  constexpr void* without_leaves() { return absent; }
};

extern CORBEL_PRIVATE_API PageMap page_map;

// The descriptor of the unit that `address` lies in; its tag is kForeign if the unit is not ours.
// `address` may be any value: bits above the address space are ignored.
inline Span* find_span(PageMap& map, const void* address) {
  const std::uintptr_t a = address_of(address);
  // (1) an acquire, by the address dependency (plain_load.hpp): sees the leaf mapped by (2) in
  // page_map.cpp
  const std::ptrdiff_t d = sync::plain_load(map.distance[(a >> kLeafBits) % kRootEntries]);
  return map.at(d) + (a >> kUnitBits) % kLeafEntries;
}
inline Span* find_span(const void* address) { return find_span(page_map, address); }

// The first unit of the slab that the unit `span` belongs to; `span` itself if it is no later unit
// of a slab.
inline Span* slab_head(Span* span) {
  if (span->tag() != span_tag::kFollower) return span;
  return find_span(span->start() - std::size_t(span->head_distance) * kUnit);
}

// Asks the system to use no huge pages for the root: most of it is never touched.
void set_up_page_map();

// Whether there are descriptors for the GiB around `address`.
inline bool has_leaf(const void* address) {
  return page_map.leaf((address_of(address) >> kLeafBits) % kRootEntries) != nullptr;
}

using PageMask = std::uint16_t;

// The mask of the unit with this number. The masks of the next units follow, up to the end of the
// leaf.
inline PageMask* page_masks(std::size_t unit) {
  Span* leaf = page_map.leaf(unit / kLeafEntries);
  return reinterpret_cast<PageMask*>(leaf + kLeafEntries) + unit % kLeafEntries;
}

// Makes sure that the range has descriptors, and counts their memory in the footprint. kShort when
// the hard limit leaves no room for that memory. kNone when the system has no memory, or when the
// range lies above the address space that the map covers.
enum class Cover { kDone, kShort, kNone };
Cover cover_with_spans(const void* address, std::size_t size);

// Like cover_with_spans(), for a range that could not be unmapped after its descriptors had been
// decommitted. Ignores the hard limit.
void cover_again(const void* address, std::size_t size);

// Decommits the pages of descriptors whose units all lie in the range and have the tag kForeign.
void forget_spans(const void* address, std::size_t size);

// Visits the descriptors of all units ever covered, in address order, while other threads may
// change them. `visit(context, span, address)` returns the number of units to advance by.
void walk_spans(std::size_t (*visit)(void* context, const Span& span, void* address),
                void* context);

// For a thread that the system has refused a mapping: if the reason may be that the process locks
// its memory and its limit leaves no room, locks the map no longer, most of which is never used.
// Returns whether it is worthwhile to try the mapping again.
bool unlock_page_map();

// The bytes mapped for leaves so far.
std::size_t page_map_bytes();

// The part of page_map_bytes() that counts in the footprint.
std::size_t page_map_committed();

}  // namespace corbel::alloc
