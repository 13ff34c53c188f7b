// SPDX-License-Identifier: Apache-2.0
// Uninitialized memory for objects, from TBB 2020, and what its header included there.
#pragma once

#include <oneapi/tbb/detail/_aligned_space.h>
#include <oneapi/tbb/detail/_classic_source.h>
#include <tbb/tbb_stddef.h>
