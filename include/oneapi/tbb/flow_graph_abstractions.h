// SPDX-License-Identifier: Apache-2.0
// The interface through which asynchronous work returns messages to a flow graph.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/flow/gateway.hpp>

namespace tbb {
inline namespace v1 {
namespace flow {
using namespace corbel::flow;
}
}  // namespace v1
}  // namespace tbb
