// SPDX-License-Identifier: Apache-2.0
// Time per operation for kernels in which each thread has its own work. It is core time, so that a
// row with more threads than cores is not slower for that reason alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness.hpp"

namespace bench {

// Core seconds per operation, where `operations` is the sum over all threads: the elapsed time
// times the number of cores that the threads can use.
inline double core_seconds_each(double elapsed, unsigned threads, std::uint64_t operations) {
  return elapsed * std::min(threads, usable_cores()) / static_cast<double>(operations);
}

}  // namespace bench
