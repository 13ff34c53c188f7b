// SPDX-License-Identifier: Apache-2.0
// Partitioners: how a loop is split into tasks.
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
