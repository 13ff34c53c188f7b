// SPDX-License-Identifier: Apache-2.0
// The task_handle of oneTBB, or that of TBB 2020 if the program asks for it.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/task_handle.hpp>

namespace tbb {
inline namespace v1 {
#if CORBEL_CLASSIC_TASK_HANDLE
using corbel::classic::task_handle;
#else
using corbel::task_handle;
#endif
}  // namespace v1
}  // namespace tbb
