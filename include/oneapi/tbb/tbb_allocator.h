// SPDX-License-Identifier: Apache-2.0
// The allocator that names what serves it.
#pragma once

#include <corbel/tbb_allocator.hpp>
#include <oneapi/tbb/detail/_namespace.h>

namespace tbb {
inline namespace v1 {
using corbel::tbb_allocator;
}
}
