// SPDX-License-Identifier: Apache-2.0
// The Fibonacci recursion with OpenMP tasks.
#pragma once

#include "fibonacci.hpp"

namespace fibonacci {

inline std::uint64_t parallel(unsigned n, unsigned cutoff) {
  if (n < cutoff) return below_cutoff(n);
  std::uint64_t a = 0;
#pragma omp task shared(a)
  a = parallel(n - 1, cutoff);
  const std::uint64_t b = parallel(n - 2, cutoff);
#pragma omp taskwait
  return a + b;
}

}  // namespace fibonacci
