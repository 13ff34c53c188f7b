// SPDX-License-Identifier: Apache-2.0
// The interface to profilers, which does nothing.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/profiling.hpp>

namespace tbb {
inline namespace v1 {
namespace profiling {
using namespace corbel::profiling;
}
}  // namespace v1
}  // namespace tbb
