// SPDX-License-Identifier: Apache-2.0
// The machine's topology and the concurrency it allows.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/info.hpp>

namespace tbb {
inline namespace v1 {
using corbel::core_type_id;
using corbel::numa_node_id;
namespace info {
using namespace corbel::info;
}
}  // namespace v1
}  // namespace tbb
