// SPDX-License-Identifier: Apache-2.0
// The flow graph.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/flow_graph_abstractions.h>
#include <oneapi/tbb/profiling.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/flow_graph.hpp>

namespace tbb {
inline namespace v1 {
using corbel::flow_control;
namespace flow {
using namespace corbel::flow;
}
}  // namespace v1
}  // namespace tbb
