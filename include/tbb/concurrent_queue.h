// SPDX-License-Identifier: Apache-2.0
// The queues under oneapi/, and the names that TBB 2020 had for them besides.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>
#include <corbel/classic/concurrent_queue.hpp>

namespace tbb {
namespace strict_ppl {
using corbel::concurrent_queue;
}
namespace deprecated {
using corbel::deprecated::concurrent_queue;
}
}  // namespace tbb
