// SPDX-License-Identifier: Apache-2.0
// daxpy with TBB's default, the automatic partitioner: one program for
// the classic and the oneTBB API, which agree here. The including file defines bench::Width.
#pragma once

#include "daxpy.hpp"

namespace {

using Range = tbb::blocked_range<std::size_t>;

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  daxpy::measure(arguments, result, [&](double a, const double* x, double* y, std::size_t count) {
    width.run([&] {
      tbb::parallel_for(Range(0, count), [=](const Range& range) {
        daxpy::part(a, x, y, range.begin(), range.end());
      });
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = daxpy::description(run);
