// SPDX-License-Identifier: Apache-2.0
// The pipelines of TBB 2020. Not in tbb.h, and not to be included together with
// parallel_pipeline.h, whose names collide with these.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/task.h>
#include <corbel/classic/pipeline.hpp>

namespace tbb {
inline namespace v1 {
using corbel::flow_control;
using corbel::make_filter;
using corbel::parallel_pipeline;
using corbel::task_group_context;
using corbel::classic::filter;
using corbel::classic::filter_t;
using corbel::classic::pipeline;
using corbel::classic::thread_bound_filter;
}  // namespace v1
}  // namespace tbb
