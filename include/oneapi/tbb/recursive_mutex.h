// SPDX-License-Identifier: Apache-2.0
// A recursive lock, from TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/recursive_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::recursive_mutex;
}
}  // namespace tbb
