// SPDX-License-Identifier: Apache-2.0
// Observers of threads that enter and leave arenas.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task_arena.h>
#include <corbel/task_scheduler_observer.hpp>

namespace tbb {
inline namespace v1 {
using corbel::task_scheduler_observer;
}
}  // namespace tbb
