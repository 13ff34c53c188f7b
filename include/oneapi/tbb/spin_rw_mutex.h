// SPDX-License-Identifier: Apache-2.0
// Small reader-writer locks whose waiting threads spin.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/spin_rw_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::speculative_spin_rw_mutex;
using corbel::spin_rw_mutex;
}  // namespace v1
}  // namespace tbb
