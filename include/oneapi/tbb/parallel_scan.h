// SPDX-License-Identifier: Apache-2.0
// Prefix sums.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_scan.hpp>

namespace tbb {
inline namespace v1 {
using corbel::auto_partitioner;
using corbel::final_scan_tag;
using corbel::parallel_scan;
using corbel::pre_scan_tag;
using corbel::simple_partitioner;
using corbel::split;
}  // namespace v1
}  // namespace tbb
