// SPDX-License-Identifier: Apache-2.0
// The status of a task group, and structured_task_group of TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/task_group.hpp>

namespace tbb {
inline namespace v1 {
using corbel::canceled;
using corbel::complete;
using corbel::make_task;
using corbel::not_complete;
using corbel::structured_task_group;
using corbel::task_complete;
using corbel::task_group_status;
}  // namespace v1
}  // namespace tbb
