// SPDX-License-Identifier: Apache-2.0
// The whole TBB interface, with what only TBB 2020 had, except atomic.h and tbb_thread.h, whose
// names collide with those of std.
#pragma once

#include <oneapi/tbb.h>
#include <oneapi/tbb/detail/_classic_locks.h>
#include <tbb/aligned_space.h>
#include <tbb/blocked_rangeNd.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/task_scheduler_init.h>
#include <tbb/tbb_allocator.h>
#include <tbb/tbb_config.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_profiling.h>
#include <tbb/tbb_stddef.h>
