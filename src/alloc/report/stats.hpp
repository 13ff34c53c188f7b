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

}  // namespace corbel::alloc
