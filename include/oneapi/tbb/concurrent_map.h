// SPDX-License-Identifier: Apache-2.0
// Sorted maps into which several threads may insert.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/concurrent_map.hpp>
#include <corbel/split.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_map;
using corbel::concurrent_multimap;
using corbel::split;
}  // namespace v1
}  // namespace tbb
