// SPDX-License-Identifier: Apache-2.0
// A lock of TBB 2020 that reports an attempt to lock it twice.
#pragma once

#include <oneapi/tbb/profiling.h>
#include <corbel/classic/critical_section.hpp>

namespace tbb {
inline namespace v1 {
using corbel::critical_section;
}
}  // namespace tbb
