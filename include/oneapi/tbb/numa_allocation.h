// SPDX-License-Identifier: Apache-2.0
// Memory that lies on several memory nodes in turn.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/info.h>
#include <corbel/numa_allocation.hpp>

namespace tbb {
inline namespace v1 {
using corbel::allocate_numa_interleaved;
using corbel::deallocate_numa_interleaved;
}  // namespace v1
}  // namespace tbb
