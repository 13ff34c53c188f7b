// SPDX-License-Identifier: Apache-2.0
// The header of TBB 2020 that had the version numbers. They are repeated here because the
// FindTBB.cmake of many projects reads them from this file with a regular expression.
// blocked_range.h provides split.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_assertion_handler.h>
#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/version.h>

#define TBB_VERSION_MAJOR 2023
#define TBB_VERSION_MINOR 2
#define TBB_INTERFACE_VERSION 12200

namespace tbb {
using ::TBB_runtime_interface_version;
}
