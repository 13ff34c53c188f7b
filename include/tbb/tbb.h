// SPDX-License-Identifier: Apache-2.0
// The whole TBB interface, with what only TBB 2020 had, except atomic.h and tbb_thread.h, whose
// names collide with those of std. A program of oneTBB that has such names of its own defines
// TBB_CLASSIC_NAMES as 0 or includes <oneapi/tbb.h>.
#pragma once

#include <oneapi/tbb.h>

#if !defined(TBB_CLASSIC_NAMES) || (TBB_CLASSIC_NAMES + 0)
#include <oneapi/tbb/detail/_classic_locks.h>
#include <oneapi/tbb/detail/_classic_names.h>
#include <oneapi/tbb/detail/_structured_task_group.h>
#include <tbb/aggregator.h>
#include <tbb/aligned_space.h>
#include <tbb/blocked_rangeNd.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_do.h>
#include <tbb/parallel_while.h>
#include <tbb/recursive_mutex.h>
#include <tbb/task_scheduler_init.h>
#include <tbb/tbb_allocator.h>
#include <tbb/tbb_config.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_profiling.h>
#include <tbb/tbb_stddef.h>
#endif
