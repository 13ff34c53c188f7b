// SPDX-License-Identifier: Apache-2.0
// The statistics of the whole process.
#pragma once

#include <corbel/malloc.h>

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

// <corbel/malloc.h> documents the fields. stats() returns a snapshot, taken without stopping other
// threads.
using Stats = struct ::corbel_heap_stats;
CORBEL_PRIVATE_API Stats stats() noexcept;

// For a signal handler, wherever the signal came: stores the same in `*stats`, except that the
// calling thread's caches count as live, as those of other threads do. Returns false when the
// figures cannot be had now, because the interrupted code is changing them.
bool stats_in_handler(Stats* stats) noexcept;

}  // namespace corbel::alloc
