// SPDX-License-Identifier: Apache-2.0
#include <corbel/detail/runtime_version.h>
#include <corbel/detail/config.hpp>

#include "base/config.hpp"

extern "C" {

CORBEL_EXPORT const char* TBB_runtime_version() { return corbel::config::kTbbVersion; }

CORBEL_EXPORT int TBB_runtime_interface_version() { return corbel::config::kTbbInterfaceVersion; }

}  // extern "C"
