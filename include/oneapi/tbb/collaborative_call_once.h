// SPDX-License-Identifier: Apache-2.0
// Calls a function once; waiting threads help with its tasks.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/collaborative_call_once.hpp>

namespace tbb {
inline namespace v1 {
using corbel::collaborative_call_once;
using corbel::collaborative_once_flag;
}  // namespace v1
}  // namespace tbb
