// SPDX-License-Identifier: Apache-2.0
// Wall-clock time.
#pragma once

#include <corbel/tick_count.hpp>
#include <oneapi/tbb/detail/_namespace.h>

namespace tbb {
inline namespace v1 {
using corbel::tick_count;
}
}
