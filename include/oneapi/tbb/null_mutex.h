// SPDX-License-Identifier: Apache-2.0
// A lock that does nothing.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/null_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::null_mutex;
}
}  // namespace tbb
