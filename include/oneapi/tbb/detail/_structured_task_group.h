// SPDX-License-Identifier: Apache-2.0
// The task group that only TBB 2020 had.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/task_group.hpp>

namespace tbb {
inline namespace v1 {
using corbel::make_task;
using corbel::structured_task_group;
}  // namespace v1
}  // namespace tbb
