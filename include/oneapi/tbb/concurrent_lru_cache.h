// SPDX-License-Identifier: Apache-2.0
// A cache of values that are made from keys.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/concurrent_lru_cache.hpp>

namespace tbb {
inline namespace v1 {
using corbel::concurrent_lru_cache;
}
}  // namespace tbb
