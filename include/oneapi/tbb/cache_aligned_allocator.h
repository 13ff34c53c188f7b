// SPDX-License-Identifier: Apache-2.0
// Cache-line aligned allocator and memory resource.
#pragma once

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/memory_resource.hpp>
#include <oneapi/tbb/detail/_namespace.h>

namespace tbb {
inline namespace v1 {
using corbel::cache_aligned_allocator;
#if CORBEL_HAS_MEMORY_RESOURCE
using corbel::cache_aligned_resource;
#endif
}
}
