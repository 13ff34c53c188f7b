// SPDX-License-Identifier: Apache-2.0
// The Fibonacci recursion with the oneTBB API.
#pragma once

#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

#include "fibonacci.hpp"

namespace fibonacci {

inline std::uint64_t parallel(unsigned n, unsigned cutoff) {
  if (n < cutoff) return below_cutoff(n);
  std::uint64_t a = 0, b = 0;
  tbb::parallel_invoke([&] { a = parallel(n - 1, cutoff); }, [&] { b = parallel(n - 2, cutoff); });
  return a + b;
}

inline std::uint64_t parallel_in_group(unsigned n, unsigned cutoff) {
  if (n < cutoff) return below_cutoff(n);
  std::uint64_t a = 0;
  tbb::task_group group;
  group.run([&] { a = parallel_in_group(n - 1, cutoff); });
  const std::uint64_t b = parallel_in_group(n - 2, cutoff);
  group.wait();
  return a + b;
}

}  // namespace fibonacci
