// SPDX-License-Identifier: Apache-2.0
// Cache-line aligned allocator and memory resource.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/memory_resource.hpp>

namespace tbb {
inline namespace v1 {
using corbel::cache_aligned_allocator;
#if CORBEL_HAS_MEMORY_RESOURCE
using corbel::cache_aligned_resource;
#endif
}  // namespace v1
}  // namespace tbb
