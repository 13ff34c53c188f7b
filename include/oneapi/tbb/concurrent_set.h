// SPDX-License-Identifier: Apache-2.0
// Sorted sets into which several threads may insert.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/concurrent_set.hpp>
#include <corbel/split.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_multiset;
using corbel::concurrent_set;
using corbel::split;
}  // namespace v1
}  // namespace tbb
