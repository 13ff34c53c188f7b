// SPDX-License-Identifier: Apache-2.0
// Thread-local storage whose elements are combined at the end.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <corbel/combinable.hpp>

namespace tbb {
inline namespace v1 {
using corbel::combinable;
}
}  // namespace tbb
