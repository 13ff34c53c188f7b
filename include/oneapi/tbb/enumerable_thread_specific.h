// SPDX-License-Identifier: Apache-2.0
// Thread-local storage that can be enumerated.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/enumerable_thread_specific.hpp>

namespace tbb {
inline namespace v1 {
using corbel::enumerable_thread_specific;
using corbel::ets_key_per_instance;
using corbel::ets_key_usage_type;
using corbel::ets_no_key;
using corbel::ets_suspend_aware;
using corbel::flatten2d;
using corbel::flattened2d;
}  // namespace v1
}  // namespace tbb
