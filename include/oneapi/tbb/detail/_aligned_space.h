// SPDX-License-Identifier: Apache-2.0
// Uninitialized memory for objects, from TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/aligned_space.hpp>

namespace tbb {
inline namespace v1 {
using corbel::aligned_space;
}
}  // namespace tbb
