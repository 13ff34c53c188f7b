// SPDX-License-Identifier: Apache-2.0
// Task group contexts.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/task_group_context.hpp>

namespace tbb {
inline namespace v1 {
using corbel::is_current_task_group_canceling;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
