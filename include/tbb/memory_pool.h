// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and to what this header included in TBB 2020.
#pragma once

#include <oneapi/tbb/memory_pool.h>
#include <tbb/tbb_stddef.h>
