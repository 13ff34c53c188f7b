// SPDX-License-Identifier: Apache-2.0
// Wall-clock time for measurements.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/tick_count.hpp>

namespace tbb {
inline namespace v1 {
using corbel::tick_count;
}
}  // namespace tbb
