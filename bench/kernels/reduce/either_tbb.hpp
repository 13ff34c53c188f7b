// SPDX-License-Identifier: Apache-2.0
// The sum of floats with TBB's reduction and the automatic partitioner: one program for
// the classic and the oneTBB API, which agree here. The including file defines bench::Width.
#pragma once

#include <tbb/parallel_reduce.h>

#include <functional>

#include "reduce.hpp"

namespace {

using Range = tbb::blocked_range<const float*>;

double total(const float* values, std::size_t count) {
  return tbb::parallel_reduce(
      Range(values, values + count), 0.0,
      [](const Range& part, double before) {
        return before + reduce::sum(part.begin(), part.end());
      },
      std::plus<double>());
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  reduce::measure(arguments, result, [&](const float* values, std::size_t count) {
    return width.run([&] { return total(values, count); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = reduce::description(run);
