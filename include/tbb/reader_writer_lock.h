// SPDX-License-Identifier: Apache-2.0
// The writer-preferring lock of TBB 2020, and what its header included there.
#pragma once

#include <oneapi/tbb/detail/_classic_locks.h>
#include <oneapi/tbb/detail/_classic_source.h>
#include <tbb/atomic.h>
#include <tbb/tbb_allocator.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_thread.h>
