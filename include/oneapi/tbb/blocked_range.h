// SPDX-License-Identifier: Apache-2.0
// A one-dimensional range of numbers or iterators, and the tags of splitting constructors.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/blocked_range.hpp>

namespace tbb {
inline namespace v1 {
using corbel::blocked_range;
using corbel::proportional_split;
using corbel::split;
}  // namespace v1
}  // namespace tbb
