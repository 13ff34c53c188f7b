// SPDX-License-Identifier: Apache-2.0
// Where TBB 2020 kept its version numbers. They stand here once more because the FindTBB.cmake of
// many a project reads them out of this file with a regular expression. split comes with a range.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_assertion_handler.h>
#include <oneapi/tbb/version.h>

#define TBB_VERSION_MAJOR 2022
#define TBB_VERSION_MINOR 0
#define TBB_INTERFACE_VERSION 12140

namespace tbb {
using ::TBB_runtime_interface_version;
}
