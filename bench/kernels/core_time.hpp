// SPDX-License-Identifier: Apache-2.0
// Time per operation for kernels in which each thread brings its own work: counted in the time of
// processor cores, so that a row of more threads than cores is not slower for that alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness.hpp"

namespace bench {

// Seconds of processor cores for one of `operations`, all threads' together: the elapsed time,
// times the cores that so many threads can use.
inline double core_seconds_each(double elapsed, unsigned threads, std::uint64_t operations) {
  return elapsed * std::min(threads, usable_cores()) / static_cast<double>(operations);
}

}  // namespace bench
