// SPDX-License-Identifier: Apache-2.0
// Small locks whose waiting threads spin.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/profiling.h>
#include <corbel/spin_mutex.hpp>

namespace tbb {
inline namespace v1 {
using corbel::speculative_spin_mutex;
using corbel::spin_mutex;
}  // namespace v1
}  // namespace tbb
