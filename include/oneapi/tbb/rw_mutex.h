// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock whose waiting threads sleep.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/rw_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::rw_mutex;
}
}  // namespace tbb
