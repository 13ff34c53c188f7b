// SPDX-License-Identifier: Apache-2.0
// Passes items through a chain of functions, in parallel.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task_group.h>
#include <corbel/parallel_pipeline.hpp>

namespace tbb {
inline namespace v1 {
using corbel::filter;
using corbel::filter_mode;
using corbel::flow_control;
using corbel::make_filter;
using corbel::parallel_pipeline;
using corbel::task_group_context;
}  // namespace v1
}  // namespace tbb
