// SPDX-License-Identifier: Apache-2.0
// Task group contexts, and the exceptions that TBB 2020 declared in the same header.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/captured_exception.hpp>
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
