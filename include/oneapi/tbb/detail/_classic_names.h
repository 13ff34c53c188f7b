// SPDX-License-Identifier: Apache-2.0
// The names of TBB 2020 that its headers brought along and that oneTBB has not.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/detail/_aligned_space.h>
#include <oneapi/tbb/detail/_assertion_handler.h>
#include <oneapi/tbb/detail/_classic_exceptions.h>
#include <oneapi/tbb/detail/_classic_task.h>
#include <oneapi/tbb/parallel_do.h>
#include <oneapi/tbb/profiling.h>
