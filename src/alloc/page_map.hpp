// SPDX-License-Identifier: Apache-2.0
// The page map: from any address to the descriptor of the unit it lies in.
//
// A root with an entry for each 4 GiB of address space, and leaves with a descriptor for each unit.
// The root is zero pages until it is written; a leaf is mapped when the first chunk falls into its
// 4 GiB, and stays. Reading needs no lock: entries change once. Behind the descriptors a leaf has
// the page masks of its units (dirty_pages.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/span.hpp"
#include "arch/arch.hpp"
#include "sync/plain_load.hpp"

namespace corbel::alloc {

inline constexpr unsigned kLeafBits = 32;
inline constexpr std::size_t kRootEntries = std::size_t(1) << (arch::kAddressBits - kLeafBits);
inline constexpr std::size_t kLeafEntries = std::size_t(1) << (kLeafBits - kUnitBits);

struct PageMap {
  // How far the leaf lies from `absent`, in bytes: a look-up adds it and need not ask whether there
  // is one.
  std::atomic<std::ptrdiff_t> distance[kRootEntries];
  // The leaf of all addresses that have none: zeros, hence kForeign, and never written to.
  Span absent[kLeafEntries];

  // nullptr: not there yet
  Span* leaf(std::size_t index) {
    // (1) acquire: sees the leaf mapped by (2) in page_map.cpp
    const std::ptrdiff_t d = distance[index].load(std::memory_order_acquire);
    return d == 0 ? nullptr : at(d);
  }
  Span* at(std::ptrdiff_t d) {
    return reinterpret_cast<Span*>(reinterpret_cast<char*>(absent) + d);
  }
};

extern CORBEL_PRIVATE_API PageMap page_map;

// The descriptor of the unit that `address` lies in, which says kForeign if it is not ours. Any
// value may be asked about: bits above the address space are ignored.
inline Span* find_span(const void* address) {
  const std::uintptr_t a = address_of(address);
  // (1) as acquire, for what is read through it: see plain_load.hpp
  const std::ptrdiff_t d = sync::plain_load(page_map.distance[(a >> kLeafBits) % kRootEntries]);
  return page_map.at(d) + (std::uint32_t(a) >> kUnitBits);
}

// The first unit of the slab that `span` is any unit of.
inline Span* slab_head(Span* span) {
  if (span->tag() != span_tag::kFollower) return span;
  return find_span(span->start() - std::size_t(span->head_distance) * kUnit);
}

// Keeps the map's own memory, most of which is never touched, free of huge pages.
void set_up_page_map();

// Whether there are descriptors for the 4 GiB around `address`.
inline bool has_leaf(const void* address) {
  return page_map.leaf((address_of(address) >> kLeafBits) % kRootEntries) != nullptr;
}

using PageMask = std::uint16_t;

// The mask of the unit with this number; those of the units behind it follow as far as its leaf.
inline PageMask* page_masks(std::size_t unit) {
  Span* leaf = page_map.leaf(unit / kLeafEntries);
  return reinterpret_cast<PageMask*>(leaf + kLeafEntries) + unit % kLeafEntries;
}

// Makes sure that the range has descriptors, and counts the memory they take. kShort when there is
// no room for it under the hard limit; kNone when the system has no memory, or when the range lies
// above the address space that the map covers.
enum class Cover { kDone, kShort, kNone };
Cover cover_with_spans(const void* address, std::size_t size);

// The same for a range that stays ours though its descriptors were given back.
void cover_again(const void* address, std::size_t size);

// Gives the memory of descriptors back whose units all lie in the range and have the tag kForeign.
void forget_spans(const void* address, std::size_t size);

// Goes through the descriptors of the units ever covered, in the order of their addresses, while
// other threads change them. `visit(context, span, address)` returns how many units it has dealt
// with, which the walk then passes over.
void walk_spans(std::size_t (*visit)(void* context, const Span& span, void* address),
                void* context);

// The bytes taken for leaves so far.
std::size_t page_map_bytes();

// What the footprint has of them.
std::size_t page_map_committed();

}  // namespace corbel::alloc
