// SPDX-License-Identifier: Apache-2.0
// Mutual exclusion by combining. Only TBB 2020 had it.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/aggregator.hpp>

namespace tbb {
inline namespace v1 {
using corbel::aggregator;
using corbel::aggregator_ext;
using corbel::aggregator_operation;
}  // namespace v1
}  // namespace tbb
