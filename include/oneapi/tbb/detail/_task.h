// SPDX-License-Identifier: Apache-2.0
// The internal names of oneTBB that the parallel algorithms of libstdc++ use.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/detail/tbb_task.hpp>

namespace tbb {
namespace detail {
namespace d1 {
using namespace corbel::detail::tbb_task;
using corbel::task_group_context;
}  // namespace d1
}  // namespace detail
}  // namespace tbb
