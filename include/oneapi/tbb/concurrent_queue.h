// SPDX-License-Identifier: Apache-2.0
// Queues that any number of threads push to and pop from.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/concurrent_queue.hpp>

namespace tbb {
inline namespace v1 {
using corbel::bad_last_alloc;
using corbel::concurrent_bounded_queue;
using corbel::concurrent_queue;
using corbel::user_abort;
}  // namespace v1
}  // namespace tbb
