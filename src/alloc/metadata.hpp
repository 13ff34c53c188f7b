// SPDX-License-Identifier: Apache-2.0
// Memory for the allocator's own long-lived objects.
#pragma once

#include <cstddef>

#include "sync/lock.hpp"

namespace corbel::alloc {

// Zeroed memory aligned to a cache line, never given back; nullptr when the system refuses or the
// hard limit has no room for it.
void* allocate_metadata(std::size_t size);

// The bytes taken from the system so far.
std::size_t metadata_bytes();

// What the footprint has of them.
std::size_t metadata_committed();

extern sync::Lock metadata_lock;

}  // namespace corbel::alloc
