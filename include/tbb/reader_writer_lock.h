// SPDX-License-Identifier: Apache-2.0
// A lock of classic TBB.
#pragma once

#include <oneapi/tbb/profiling.h>
#include <corbel/reader_writer_lock.hpp>

namespace tbb {
inline namespace v1 {
using corbel::reader_writer_lock;
}
}  // namespace tbb
