// SPDX-License-Identifier: Apache-2.0
// Which memory may have huge pages (CORBEL_HUGE_PAGES; docs/decisions/0010-huge-pages.md).
//
// With huge pages, one touched page makes 2 MiB resident. That is good for memory that is used as a
// whole. It multiplies the resident memory of slabs that are committed and decommitted page by
// page.
#pragma once

#include <cstddef>

namespace corbel::alloc {

inline constexpr std::size_t kHugePage = std::size_t(2) << 20;

// Tells the system whether to use huge pages for a new chunk. The chunk has `bytes` bytes and was
// mapped because `wanted` bytes were needed, when `mapped` bytes were mapped already.
void advise_chunk(void* chunk, std::size_t bytes, std::size_t wanted, std::size_t mapped);

// Whether there is a chunk for which Corbel left the choice to the system.
bool may_have_huge_pages();

// Keeps the system from making just decommitted pages resident again, which it might do to form a
// huge page. Requires: the range is ours.
void keep_decommitted(void* start, std::size_t bytes);

}  // namespace corbel::alloc
