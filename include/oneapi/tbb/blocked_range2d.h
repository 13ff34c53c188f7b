// SPDX-License-Identifier: Apache-2.0
// A two-dimensional range.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/blocked_range2d.hpp>

namespace tbb {
inline namespace v1 {
using corbel::blocked_range2d;
using corbel::proportional_split;
using corbel::split;
}  // namespace v1
}  // namespace tbb
