/* SPDX-License-Identifier: Apache-2.0
   The version of the TBB API that these headers implement. */
#pragma once

#include <corbel/detail/runtime_version.h>
#include <oneapi/tbb/detail/_features.h>

#define TBB_VERSION_MAJOR 2023
#define TBB_VERSION_MINOR 2
#define TBB_VERSION_PATCH 0
#define TBB_VERSION_STRING "2023.2.0"
#define ONETBB_SPEC_VERSION 104
#define TBB_INTERFACE_VERSION 12200
#define TBB_INTERFACE_VERSION_MAJOR (TBB_INTERFACE_VERSION / 1000)
#define TBB_INTERFACE_VERSION_MINOR (TBB_INTERFACE_VERSION % 1000 / 10)

#define TBB_COMPATIBLE_INTERFACE_VERSION 12
#define __TBB_BINARY_VERSION 12
