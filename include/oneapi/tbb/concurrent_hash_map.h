// SPDX-License-Identifier: Apache-2.0
// A hash map that threads read and change at the same time.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/spin_rw_mutex.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/concurrent_hash_map.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_hash_map;
using corbel::tbb_hasher;
}  // namespace v1
}  // namespace tbb
