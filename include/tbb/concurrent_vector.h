// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and the allocators that TBB 2020 had here.
#pragma once

#include <oneapi/tbb/concurrent_vector.h>
#include <tbb/tbb_allocator.h>
