// SPDX-License-Identifier: Apache-2.0
// Memory pools. TBB_PREVIEW_MEMORY_POOL is not needed.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/scalable_allocator.h>
#include <corbel/memory_pool.hpp>

namespace tbb {
inline namespace v1 {
using corbel::fixed_pool;
using corbel::memory_pool;
using corbel::memory_pool_allocator;
}  // namespace v1
}  // namespace tbb
