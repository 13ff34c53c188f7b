// SPDX-License-Identifier: Apache-2.0
// The writer-preferring lock of TBB 2020.
#pragma once

#include <oneapi/tbb/profiling.h>
#include <corbel/classic/reader_writer_lock.hpp>

namespace tbb {
inline namespace v1 {
using corbel::reader_writer_lock;
}
}  // namespace tbb
