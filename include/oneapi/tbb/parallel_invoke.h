// SPDX-License-Identifier: Apache-2.0
// Calls functions in parallel.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_invoke.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_invoke;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
