// SPDX-License-Identifier: Apache-2.0
// The class task: suspend and resume of oneTBB, and the tasks of TBB 2020. Also the tasks that
// libstdc++ derives from.
#pragma once

#include <oneapi/tbb/detail/_task.h>
#include <oneapi/tbb/detail/_task_group_context.h>
#include <corbel/classic/task.hpp>

namespace tbb {
inline namespace v1 {
using corbel::task;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
