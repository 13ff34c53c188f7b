// SPDX-License-Identifier: Apache-2.0
// Constants and helpers that the source files of the span heap share.
#pragma once

#include <algorithm>

#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kFirstChunkUnits = 16;  // 1 MiB
inline constexpr std::size_t kMinChunkUnits = 64;    // 4 MiB, of later ones
inline constexpr std::size_t kMaxChunkUnits = 1024;  // 64 MiB, for programs of 1 GiB and more
// Smaller spans are decommitted instead of unmapped, because unmapping them would mostly split
// mappings.
inline constexpr std::size_t kUnmapUnits = kHugePage / kUnit;
// With this many areas, no further mapping is split. Linux allows a process 65,530 mappings by
// default. With spans of kUnmapUnits between them, the areas extend over 8 GiB at least, of which a
// purge then keeps the addresses.
inline constexpr std::size_t kMaxAreas = 4096;
// The descriptors of smaller spans are not decommitted with the span: they take only a thousandth
// of its memory, and each page of them would fault again when the addresses are mapped again.
inline constexpr std::size_t kForgetUnits = 1024;  // 64 MiB
inline constexpr int kMaxRefusals = 64;
// Above the soft limit, the purge delay is divided by this.
inline constexpr std::uint32_t kOverLimitSpeedup = 8;
inline constexpr std::size_t kMaxSmallHoles = 256;
inline constexpr std::size_t kMaxUnits = std::size_t(1) << (arch::kAddressBits - kUnitBits);

inline Span* unit_at(const Span* span, std::ptrdiff_t distance) {
  return find_span(span->start() + distance * std::ptrdiff_t(kUnit));
}

inline Span* last_unit(const Span* span) { return unit_at(span, std::ptrdiff_t(span->units) - 1); }

// How many of the two units around these are ours.
inline std::size_t own_neighbours(const Span* first, std::size_t units) {
  return std::size_t(unit_at(first, -1)->tag() != span_tag::kForeign) +
         std::size_t(unit_at(first, std::ptrdiff_t(units))->tag() != span_tag::kForeign);
}

inline bool is_island(const Span* span) {
  return span->units < kUnmapUnits && own_neighbours(span, span->units) == 0;
}

inline void mark(Span* span, std::uintptr_t value) {
  Span* last = last_unit(span);
  span->set_tag(value);
  last->set_tag(value);
  last->units = span->units;
}

inline void tag_units(Span* span, std::size_t begin, std::size_t end, std::uintptr_t tag) {
  for (; begin < end; ++begin) unit_at(span, std::ptrdiff_t(begin))->set_tag(tag);
}

inline void tag_ends(Span* first, std::size_t units, std::uintptr_t tag) {
  first->set_tag(tag);
  unit_at(first, std::ptrdiff_t(units) - 1)->set_tag(tag);
}

// Initialises the descriptors of memory that no other thread knows of yet. Leaves out whether the
// first unit begins a mapping: mark_mapping() sets that, also for a neighbour of the memory. The
// end units stay foreign until enter_area(), so that threads which count areas find them as
// counted.
inline void claim_units(char* start, std::size_t units) {
  const auto number = std::uint32_t(address_of(start) / kUnit);
  for (std::size_t i = 0; i < units; ++i) {
    Span* span = find_span(start + i * kUnit);
    span->unit = number + std::uint32_t(i);
    if (i != 0) span->set_begins_mapping(false);
    if (i != 0 && i != units - 1) span->set_tag(span_tag::kInterior);
  }
}

inline constexpr std::size_t kPagesInUnit = kUnit / kDirtyPage;

// Sets the fields of a free span.
inline void set_content(Span* span, std::size_t units, DirtyCount dirty, std::uint32_t freed_at) {
  span->units = std::uint32_t(units);
  span->dirty_units = std::uint32_t(dirty.units);
  span->zeroed = dirty.units == 0;
  span->all_dirty = dirty.pages == units * kPagesInUnit;
  span->freed_at = freed_at;
}

inline void note_freed(Span* span, DirtyCount dirty) {
  set_content(span, span->units, dirty, std::uint32_t(os::now_ms()));
}

// The units to skip at the beginning of a free span so that the request is aligned.
inline std::size_t lead_in(const Span* span, std::size_t align_units) {
  return align_up(span->unit, align_units) - span->unit;
}

// The number of units of a free span before its first dirty one.
inline std::size_t clean_lead(const Span* span) {
  if (span->zeroed) return span->units;
  return span->all_dirty ? 0 : count_clean(span, span->units);
}

// The dirty pages in `units` units of a free span, from its unit number `lead` on.
inline DirtyCount dirty_in(const Span* span, std::size_t lead, std::size_t units) {
  if (span->zeroed) return {0, 0};
  if (span->all_dirty) return {units * kPagesInUnit, units};
  return count_dirty(unit_at(span, std::ptrdiff_t(lead)), units);
}

}  // namespace corbel::alloc
