// SPDX-License-Identifier: Apache-2.0
// Calls a function for each item of a sequence, in parallel.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_for_each.hpp>

namespace tbb {
inline namespace v1 {
using corbel::feeder;
using corbel::parallel_for_each;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
