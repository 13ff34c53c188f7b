// SPDX-License-Identifier: Apache-2.0
// Which memory may have huge pages (CORBEL_HUGE_PAGES; docs/decisions/0010-huge-pages.md).
//
// Where the system backs everything by huge pages, one touched page makes 2 MiB resident: good for
// memory that is used as a whole, a multiple of what is needed where slabs are carved page by page
// and purged page by page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

inline constexpr std::size_t kHugePage = std::size_t(2) << 20;

enum class HugePages : std::uint8_t { kNever, kAuto, kAlways };

// Advises the system about a new chunk of `bytes`, which was asked for because `wanted` bytes were
// needed in a heap of `mapped` bytes.
void advise_chunk(void* chunk, std::size_t bytes, std::size_t wanted, std::size_t mapped);

// Whether the system may put huge pages anywhere, unless it was asked for them everywhere.
bool may_have_huge_pages();

// Sees to it that pages just purged are not made resident again by the system, which would like to
// fill up huge pages. The range is ours.
void keep_purged(void* start, std::size_t bytes);

}  // namespace corbel::alloc
