// SPDX-License-Identifier: Apache-2.0
// How programs for TBB 2020 set the number of threads.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <tbb/tbb_stddef.h>
#include <corbel/classic/task_scheduler_init.hpp>

namespace tbb {
using corbel::task_scheduler_init;
}
