// SPDX-License-Identifier: Apache-2.0
// A lock of TBB 2020 that reports an attempt to lock it twice, and what its header included there.
#pragma once

#include <oneapi/tbb/detail/_classic_locks.h>
#include <oneapi/tbb/detail/_classic_source.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_profiling.h>
#include <tbb/tbb_stddef.h>
#include <tbb/tbb_thread.h>
