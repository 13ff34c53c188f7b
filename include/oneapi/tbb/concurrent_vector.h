// SPDX-License-Identifier: Apache-2.0
// A vector that several threads can append to at the same time.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/concurrent_vector.hpp>

namespace tbb {
inline namespace v1 {
using corbel::bad_last_alloc;
using corbel::concurrent_vector;
}  // namespace v1
}  // namespace tbb
