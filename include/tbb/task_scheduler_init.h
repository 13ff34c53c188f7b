// SPDX-License-Identifier: Apache-2.0
// How programs for TBB 2020 say how many threads they want.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/task_scheduler_init.hpp>

namespace tbb {
using corbel::task_scheduler_init;
}
