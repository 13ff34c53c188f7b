// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/; and the allocator of TBB 2020 whose memory is zero.
#pragma once

#include <oneapi/tbb/tbb_allocator.h>
#include <corbel/classic/zero_allocator.hpp>

namespace tbb {
inline namespace v1 {
using corbel::zero_allocator;
}
}  // namespace tbb
