// SPDX-License-Identifier: Apache-2.0
// A fair lock.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/queuing_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::queuing_mutex;
}
}  // namespace tbb
