// SPDX-License-Identifier: Apache-2.0
// Which pages of free memory may be resident: one bit per 4 KiB page, sixteen bits per unit. The
// bits are stored in the page map's leaf, after the descriptors.
//
// The bits are written when a span is freed, and read when it is allocated again or given back. The
// bits of memory in use are stale. Until a freed span is in a list, only the freeing thread touches
// its bits; while the span is in a list, only the thread that holds the span heap's lock does.
#pragma once

#include <cstddef>

#include "alloc/map/page_map.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kDirtyPage = kUnit / 16;

struct DirtyCount {
  std::size_t pages;
  std::size_t units;  // those with at least one dirty page
};

// The dirty pages in `units` units from `first` on.
DirtyCount count_dirty(const Span* first, std::size_t units);

// The number of units before the first one with a dirty page; `units` if no page is dirty.
std::size_t count_clean(const Span* first, std::size_t units);

// Marks the pages of the first `bytes` as dirty and the rest as clean.
void set_dirty(const Span* first, std::size_t units, std::size_t bytes);

// Marks the pages of `unit` whose bits are set in `pages` as clean.
void clear_dirty(const Span* unit, unsigned pages);

}  // namespace corbel::alloc
