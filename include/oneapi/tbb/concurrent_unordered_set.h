// SPDX-License-Identifier: Apache-2.0
// Concurrent hash sets.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/concurrent_unordered_set.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_unordered_multiset;
using corbel::concurrent_unordered_set;
using corbel::split;
}  // namespace v1
}  // namespace tbb
