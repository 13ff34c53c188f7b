// SPDX-License-Identifier: Apache-2.0
// The handler for failed assertions.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/assertion_handler.hpp>

#define TBB_EXT_CUSTOM_ASSERTION_HANDLER 202510

namespace tbb {
inline namespace v1 {
using corbel::assertion_handler_type;
using corbel::get_assertion_handler;
using corbel::set_assertion_handler;
}  // namespace v1
namespace ext = v1;
}  // namespace tbb
