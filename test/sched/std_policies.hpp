// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of libstdc++'s parallel algorithms, which run on Corbel.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <execution>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace std_test {

// Without TBB headers libstdc++ falls back to a serial implementation, and these tests would test
// nothing.
#if !defined(_PSTL_PAR_BACKEND_TBB)
#error "libstdc++ does not see the TBB headers"
#endif

// Around the sizes at which libstdc++ starts to divide (500 for sorting, 2000 for merging).
inline constexpr std::size_t kSizes[] = {0, 1, 2, 17, 499, 501, 2500, 60000};

// Calls check(policy, size) for both parallel policies and every size. The policies are constants,
// because libstdc++ 12 cannot compile its set operations otherwise.
template <typename Check>
void for_policies_and_sizes(Check check) {
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE("size " + std::to_string(size));
    {
      SCOPED_TRACE("par");
      check(std::execution::par, size);
    }
    {
      SCOPED_TRACE("par_unseq");
      check(std::execution::par_unseq, size);
    }
  }
}

// Numbers below `bound`, the same in every run.
inline std::vector<int> numbers(std::size_t count, int bound, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any(0, bound - 1);
  std::vector<int> result(count);
  for (int& each : result) each = any(random);
  return result;
}

inline std::vector<int> sorted_numbers(std::size_t count, int bound, unsigned seed = 1) {
  std::vector<int> result = numbers(count, bound, seed);
  std::sort(result.begin(), result.end());
  return result;
}

inline bool is_even(int number) { return number % 2 == 0; }

}  // namespace std_test
