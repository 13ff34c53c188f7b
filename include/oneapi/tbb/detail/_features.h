/* SPDX-License-Identifier: Apache-2.0
   The feature-test macros of oneTBB. What oneTBB calls preview features is there without the macro
   that would enable it. */
#pragma once

#define TBB_HAS_FLOW_GRAPH_RESOURCE_LIMITING 202608
#define TBB_HAS_PARALLEL_PHASE 202608
#define TBB_HAS_TASK_ARENA_CORE_TYPE_SELECTOR 202603
#define TBB_HAS_TASK_GROUP_DEPENDENCIES 202603
#define TBB_HAS_TASK_GROUP_WAIT_FOR_SINGLE_TASK 202603
#define TBB_HAS_NUMA_ALLOCATION 202605
#define TBB_HAS_CUSTOM_ASSERTION_HANDLER 202608
