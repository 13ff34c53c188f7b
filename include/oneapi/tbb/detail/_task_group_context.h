// SPDX-License-Identifier: Apache-2.0
// The contexts of groups of tasks, and the exceptions that classic TBB declared beside them.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/captured_exception.hpp>
#include <corbel/task_group_context.hpp>

namespace tbb {
inline namespace v1 {
using corbel::captured_exception;
using corbel::is_current_task_group_canceling;
using corbel::movable_exception;
using corbel::task_group_context;
using corbel::tbb_exception;
}  // namespace v1
}  // namespace tbb
