// SPDX-License-Identifier: Apache-2.0
// Which pages of free memory may be resident: a bit for each page of 4 KiB, sixteen to a unit, in
// the leaf of the page map behind the descriptors.
//
// They are written when a span is freed and read when it is taken again or given back; those of
// memory in use are left over from the time before. All belong to whoever holds the span: the
// freeing thread before the span is in a list, the holder of the span heap's lock while it is.
#pragma once

#include <cstddef>

#include "alloc/page_map.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kDirtyPage = kUnit / 16;

struct DirtyCount {
  std::size_t pages;
  std::size_t units;  // with any such page
};

// The dirty pages in `units` units from `first` on.
DirtyCount count_dirty(const Span* first, std::size_t units);

// How many units before the first with a dirty page; `units` if there is none.
std::size_t count_clean(const Span* first, std::size_t units);

// The first `bytes` of the units may be resident, the rest is not.
void set_dirty(const Span* first, std::size_t units, std::size_t bytes);

// The pages of `unit` whose bits are set in `pages` are not resident.
void clear_dirty(const Span* unit, unsigned pages);

}  // namespace corbel::alloc
