// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations may run in parallel.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_for.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_for;
}  // namespace v1
}  // namespace tbb
