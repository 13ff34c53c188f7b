// SPDX-License-Identifier: Apache-2.0
// What oneTBB's task.h has not.
#pragma once

#include <oneapi/tbb/task.h>

namespace tbb {
inline namespace v1 {
using corbel::empty_task;
using corbel::priority_high;
using corbel::priority_low;
using corbel::priority_normal;
using corbel::priority_t;
using corbel::task_list;
}  // namespace v1
}  // namespace tbb
