// SPDX-License-Identifier: Apache-2.0
// A priority queue that any number of threads push to and pop from.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/concurrent_priority_queue.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_priority_queue;
}
}  // namespace tbb
