// SPDX-License-Identifier: Apache-2.0
// A lock of classic TBB.
#pragma once

#include <oneapi/tbb/profiling.h>
#include <corbel/critical_section.hpp>

namespace tbb {
inline namespace v1 {
using corbel::critical_section;
}
}  // namespace tbb
