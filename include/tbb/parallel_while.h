// SPDX-License-Identifier: Apache-2.0
// A loop over a stream. Only TBB before oneTBB had it.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <tbb/task.h>
#include <corbel/classic/parallel_while.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_while;
}
}  // namespace tbb
