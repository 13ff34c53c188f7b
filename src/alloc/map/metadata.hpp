// SPDX-License-Identifier: Apache-2.0
// Memory for the allocator's own long-lived objects.
#pragma once

#include <cstddef>

#include "sync/lock.hpp"

namespace corbel::alloc {

// Returns zeroed memory, aligned to a cache line, that is never freed. nullptr when the system
// refuses or the hard limit leaves no room.
void* allocate_metadata(std::size_t size);

// The bytes mapped so far.
std::size_t metadata_bytes();

// The part of metadata_bytes() that counts in the footprint.
std::size_t metadata_committed();

extern sync::Lock metadata_lock;

}  // namespace corbel::alloc
