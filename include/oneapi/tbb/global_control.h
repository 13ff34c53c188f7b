// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of the scheduler, and how to wait for its threads to end.
#pragma once

#include <oneapi/tbb/detail/_assertion_handler.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/global_control.hpp>

namespace tbb {
inline namespace v1 {
using corbel::attach;
using corbel::finalize;
using corbel::global_control;
using corbel::task_scheduler_handle;
using corbel::unsafe_wait;
}  // namespace v1
}  // namespace tbb
