// SPDX-License-Identifier: Apache-2.0
// y = a x + y over long vectors of doubles (daxpy of the BLAS): a memory-bound loop.
//
// All values are small whole numbers, so every result is exact and each element is checked. The
// vectors are filled by one thread, as in most programs.
#pragma once

#include <memory>

#include "../harness.hpp"

namespace daxpy {

inline void part(double a, const double* x, double* y, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) y[i] = a * x[i] + y[i];
}

// `pass(a, x, y, count)` does one pass over both vectors.
template <typename Pass>
void measure(bench::Arguments& arguments, bench::Result& result, const Pass& pass) {
  const std::uint64_t count = arguments.number("count", 100'000);
  const std::uint64_t passes = arguments.number("passes", 2);
  const double a = 3;
  const auto x = std::make_unique_for_overwrite<double[]>(count);
  const auto y = std::make_unique_for_overwrite<double[]>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    x[i] = static_cast<double>(i % 1000);
    y[i] = static_cast<double>(i % 7);
  }
  pass(0, x.get(), y.get(), count < 10'000 ? count : 10'000);  // warms the library up
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < passes; ++i) {
    pass(a, x.get(), y.get(), count);
    bench::escape(y.get());  // keeps a compiler from merging two passes of the serial program
  }
  result.seconds = result.value = bench::now() - begin;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t expected = i % 7 + passes * 3 * (i % 1000);
    bench::check(y[i] == static_cast<double>(expected), "an element is wrong");
    result.checksum += expected;
  }
  const double bytes = 3.0 * sizeof(double) * static_cast<double>(count * passes);
  result.extra["GB/s"] = bytes / result.seconds * 1e-9;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "daxpy",
      .title = "daxpy",
      .what =
          "y = a x + y over two long vectors of doubles, several times, with the library's usual "
          "partitioning. The loop is memory-bound, so the best a scheduler can do is to keep "
          "every thread on a contiguous part and to cost nothing.",
      .group = "modern scheduler",
      .plot = "speedup",
      .threads = {1, 2, 4},
      .cases = {{"", "count=4000000 passes=12", "count=16000000 passes=10",
                 "count=50000000 passes=10"}},
      .run = run,
  };
}

}  // namespace daxpy
