// SPDX-License-Identifier: Apache-2.0
// The atomic of TBB 2020. Not in tbb.h: its names would collide with std's where both are used.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/atomic.hpp>

namespace tbb {
inline namespace v1 {
using corbel::acquire;
using corbel::atomic;
using corbel::full_fence;
using corbel::load;
using corbel::make_atomic;
using corbel::memory_semantics;
using corbel::relaxed;
using corbel::release;
using corbel::store;
}  // namespace v1
}  // namespace tbb
