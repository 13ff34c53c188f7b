// SPDX-License-Identifier: Apache-2.0
// The tasks of TBB 2020, suspend and resume of oneTBB, and the tasks that libstdc++ derives from.
#pragma once

#include <oneapi/tbb/detail/_task.h>
#include <oneapi/tbb/detail/_task_group_context.h>
#include <corbel/classic/task.hpp>

namespace tbb {
inline namespace v1 {
using corbel::empty_task;
using corbel::priority_high;
using corbel::priority_low;
using corbel::priority_normal;
using corbel::priority_t;
using corbel::task;
using corbel::task_group_context;
using corbel::task_list;
}  // namespace v1
}  // namespace tbb
