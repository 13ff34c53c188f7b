// SPDX-License-Identifier: Apache-2.0
// Reductions.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_reduce.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_deterministic_reduce;
using corbel::parallel_reduce;
}  // namespace v1
}  // namespace tbb
