// SPDX-License-Identifier: Apache-2.0
// Sorts a sequence in parallel.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/parallel_for.h>
#include <corbel/parallel_sort.hpp>

namespace tbb {
inline namespace v1 {
using corbel::parallel_sort;
}
}  // namespace tbb
