// SPDX-License-Identifier: Apache-2.0
// The sum of a long vector of floats: a memory-bound reduction.
//
// The elements are small whole numbers and each block is summed in a double, so the sum is exact in
// any order of the parts.
#pragma once

#include <cstring>
#include <memory>

#include "../harness.hpp"

namespace reduce {

inline constexpr std::size_t kBlock = 4096;

// Four floats at a time, with the vector extension of GCC and Clang.
typedef float Four __attribute__((vector_size(16)));

// Four independent vectors of sums, so that neither one chain of additions nor the vectorisation of
// a compiler is the limit. All programs call this for their parts.
inline double sum(const float* begin, const float* end) {
  double total = 0;
  while (begin != end) {
    const auto left = static_cast<std::size_t>(end - begin);
    const float* stop = begin + (left < kBlock ? left : kBlock);
    Four sums[4] = {};
    for (; static_cast<std::size_t>(stop - begin) >= 16; begin += 16) {
      Four values[4];
      std::memcpy(values, begin, sizeof values);
      for (int i = 0; i < 4; ++i) sums[i] += values[i];
    }
    const Four joined = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float block = (joined[0] + joined[1]) + (joined[2] + joined[3]);
    for (; begin != stop; ++begin) block += *begin;
    total += static_cast<double>(block);
  }
  return total;
}

// `total(values, count)` adds them up once.
template <typename Total>
void measure(bench::Arguments& arguments, bench::Result& result, const Total& total) {
  const std::uint64_t count = arguments.number("count", 100'000);
  const std::uint64_t passes = arguments.number("passes", 2);
  const auto values = std::make_unique_for_overwrite<float[]>(count);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 101);
    expected += i % 101;
  }
  total(values.get(), count < 10'000 ? count : 10'000);  // warms the library up
  bool right = true;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < passes; ++i) {
    right &= total(values.get(), count) == static_cast<double>(expected);
    bench::escape(values.get());  // keeps a compiler from adding up only once
  }
  result.seconds = result.value = bench::now() - begin;
  bench::check(right, "not the sum");
  result.checksum = expected;
  const double bytes = sizeof(float) * static_cast<double>(count * passes);
  result.extra["GB/s"] = bytes / result.seconds * 1e-9;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "reduce",
      .title = "Sum of floats",
      .what =
          "The sum of a long vector of floats, several times, with the library's reduction and "
          "its usual partitioning. The loop is memory-bound and one pass is short (a few "
          "milliseconds in a quick run), so all threads must start at once.",
      .group = "modern scheduler",
      .plot = "speedup",
      .threads = {1, 2, 4},
      .cases = {{"", "count=10000000 passes=20", "count=20000000 passes=50",
                 "count=100000000 passes=20"}},
      .run = run,
  };
}

}  // namespace reduce
