// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and to what this header included in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/recursive_mutex.h>
#include <tbb/aligned_space.h>
#include <tbb/tbb_profiling.h>
#include <tbb/tbb_stddef.h>
