// SPDX-License-Identifier: Apache-2.0
// An n-dimensional range.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/blocked_nd_range.hpp>

namespace tbb {
inline namespace v1 {
using corbel::blocked_nd_range;
using corbel::blocked_range;
using corbel::proportional_split;
using corbel::split;
}  // namespace v1
}  // namespace tbb
