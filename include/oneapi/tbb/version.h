/* SPDX-License-Identifier: Apache-2.0
   The version of the TBB API of which these headers implement a part. */
#pragma once

#include <corbel/detail/runtime_version.h>

#define TBB_VERSION_MAJOR 2022
#define TBB_VERSION_MINOR 0
#define TBB_VERSION_PATCH 0
#define TBB_VERSION_STRING "2022.0.0"
#define ONETBB_SPEC_VERSION 104
#define TBB_INTERFACE_VERSION 12140
#define TBB_INTERFACE_VERSION_MAJOR (TBB_INTERFACE_VERSION / 1000)
#define TBB_INTERFACE_VERSION_MINOR (TBB_INTERFACE_VERSION % 1000 / 10)

#define TBB_COMPATIBLE_INTERFACE_VERSION 12
#define __TBB_BINARY_VERSION 12

/* What oneTBB calls preview features is there without the macro that would enable it. */
#define TBB_HAS_PARALLEL_PHASE 202608
#define TBB_HAS_TASK_ARENA_CORE_TYPE_SELECTOR 202603
#define TBB_HAS_TASK_GROUP_DEPENDENCIES 202603
#define TBB_HAS_TASK_GROUP_WAIT_FOR_SINGLE_TASK 202603
#define TBB_HAS_NUMA_ALLOCATION 202605
#define TBB_HAS_CUSTOM_ASSERTION_HANDLER 202608
