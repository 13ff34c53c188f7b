// SPDX-License-Identifier: Apache-2.0
// Concurrent hash maps.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/concurrent_unordered_map.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_unordered_map;
using corbel::concurrent_unordered_multimap;
using corbel::split;
}  // namespace v1
}  // namespace tbb
