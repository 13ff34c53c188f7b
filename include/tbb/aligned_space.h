// SPDX-License-Identifier: Apache-2.0
// Memory for objects that are made later.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/aligned_space.hpp>

namespace tbb {
inline namespace v1 {
using corbel::aligned_space;
}
}  // namespace tbb
