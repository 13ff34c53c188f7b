// SPDX-License-Identifier: Apache-2.0
// An allocator that reports where its memory comes from.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/tbb_allocator.hpp>

namespace tbb {
inline namespace v1 {
using corbel::tbb_allocator;
}
}  // namespace tbb
