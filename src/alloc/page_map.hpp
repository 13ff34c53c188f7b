// SPDX-License-Identifier: Apache-2.0
// The page map: from any address to the descriptor of the unit it lies in.
//
// A root with an entry for each 4 GiB of address space, and leaves with a descriptor for each unit.
// The root is zero pages until it is written; a leaf is mapped when the first chunk falls into its
// 4 GiB, and stays. Reading needs no lock: entries go from null to a leaf once. Behind the
// descriptors a leaf has the page masks of its units (dirty_pages.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/span.hpp"
#include "arch/arch.hpp"

namespace corbel::alloc {

inline constexpr unsigned kLeafBits = 32;
inline constexpr std::size_t kRootEntries = std::size_t(1) << (arch::kAddressBits - kLeafBits);
inline constexpr std::size_t kLeafEntries = std::size_t(1) << (kLeafBits - kUnitBits);

extern CORBEL_PRIVATE_API std::atomic<Span*> page_map_root[kRootEntries];

// The descriptor of the unit that `address` lies in; nullptr if no leaf covers it. Any value may
// be asked about: bits above the address space are ignored, and its tag tells the rest.
inline Span* find_span(const void* address) {
  const std::uintptr_t a = address_of(address);
  // (1) acquire: sees the leaf mapped by (2) in page_map.cpp
  Span* leaf = page_map_root[(a >> kLeafBits) % kRootEntries].load(std::memory_order_acquire);
  if (leaf == nullptr) return nullptr;
  return leaf + (std::uint32_t(a) >> kUnitBits);
}

using PageMask = std::uint16_t;

// The mask of the unit with this number; those of the units behind it follow as far as its leaf.
inline PageMask* page_masks(std::size_t unit) {
  // relaxed: the unit is ours, so its leaf has been seen
  Span* leaf = page_map_root[unit / kLeafEntries].load(std::memory_order_relaxed);
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
