// SPDX-License-Identifier: Apache-2.0
// Memory for the allocator's own long-lived objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/lock.hpp"

namespace corbel::alloc {

// Returns zeroed memory, aligned to a cache line, that is never freed. nullptr when the system
// refuses or the hard limit leaves no room.
void* allocate_metadata(std::size_t size);

// The bytes mapped so far.
std::size_t metadata_bytes();

// The part of metadata_bytes() that counts in the footprint.
std::size_t metadata_committed();

// Calls visit(context, start, end) for the ranges of addresses that all metadata lies in, of which
// there are metadata_ranges(). No other thread may be in allocate_metadata(): the caller holds
// metadata_lock.
void for_each_metadata_range(void (*visit)(void* context, std::uintptr_t start, std::uintptr_t end),
                             void* context);
std::size_t metadata_ranges();

extern sync::Lock metadata_lock;

}  // namespace corbel::alloc
