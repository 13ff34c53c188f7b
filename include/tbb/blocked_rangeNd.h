// SPDX-License-Identifier: Apache-2.0
// The earlier name of blocked_nd_range.
#pragma once

#include <oneapi/tbb/blocked_nd_range.h>

namespace tbb {
inline namespace v1 {
template <typename Value, unsigned int N>
using blocked_rangeNd = corbel::blocked_nd_range<Value, N>;
}
}  // namespace tbb
