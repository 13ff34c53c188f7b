// SPDX-License-Identifier: Apache-2.0
// How a loop is cut into pieces.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/partitioner.hpp>

namespace tbb {
inline namespace v1 {
using corbel::affinity_partitioner;
using corbel::auto_partitioner;
using corbel::simple_partitioner;
using corbel::static_partitioner;
}  // namespace v1
}  // namespace tbb
