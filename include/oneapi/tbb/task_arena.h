// SPDX-License-Identifier: Apache-2.0
// Arenas: sets of slots whose threads work on the same tasks.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/task_arena.hpp>

namespace tbb {
inline namespace v1 {
using corbel::attach;
using corbel::create_numa_task_arenas;
using corbel::task_arena;
namespace this_task_arena {
using namespace corbel::this_task_arena;
}
}  // namespace v1
}  // namespace tbb
