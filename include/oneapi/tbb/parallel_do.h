// SPDX-License-Identifier: Apache-2.0
// The name of parallel_for_each in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/task.h>
#include <corbel/classic/parallel_do.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_do;
using corbel::parallel_do_feeder;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
