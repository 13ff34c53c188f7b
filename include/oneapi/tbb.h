// SPDX-License-Identifier: Apache-2.0
// The whole interface of oneTBB: all headers under oneapi/tbb except those of what only TBB 2020
// had (parallel_do.h, pipeline.h, recursive_mutex.h), and tbbmalloc_proxy.h, which replaces malloc.
#pragma once

#include <oneapi/tbb/blocked_nd_range.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/blocked_range2d.h>
#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/collaborative_call_once.h>
#include <oneapi/tbb/combinable.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/memory_pool.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/null_mutex.h>
#include <oneapi/tbb/null_rw_mutex.h>
#include <oneapi/tbb/numa_allocation.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/profiling.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/scalable_allocator.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <oneapi/tbb/tick_count.h>
#include <oneapi/tbb/version.h>
