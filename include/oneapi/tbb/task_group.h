// SPDX-License-Identifier: Apache-2.0
// Task groups: tasks that are waited for together.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/detail/_task_group_context.h>
#include <oneapi/tbb/detail/_task_handle.h>
#include <corbel/isolated_task_group.hpp>
#include <corbel/task_group.hpp>

namespace tbb {
inline namespace v1 {
using corbel::canceled;
using corbel::complete;
using corbel::isolated_task_group;
using corbel::missing_wait;
using corbel::not_complete;
using corbel::task_complete;
using corbel::task_completion_handle;
using corbel::task_group;
using corbel::task_group_status;
}  // namespace v1
}  // namespace tbb
