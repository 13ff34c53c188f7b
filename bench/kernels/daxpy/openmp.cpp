// SPDX-License-Identifier: Apache-2.0
// daxpy with OpenMP and its default schedule, one contiguous part for each thread.
#include "../openmp_width.hpp"
#include "daxpy.hpp"

namespace {

void pass(double a, const double* x, double* y, std::size_t count) {
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) y[i] = a * x[i] + y[i];
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  daxpy::measure(arguments, result, pass);
}

}  // namespace

const bench::Kernel bench::kernel = daxpy::description(run);
