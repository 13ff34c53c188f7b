// SPDX-License-Identifier: Apache-2.0
// daxpy: the serial program.
#include "daxpy.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  daxpy::measure(arguments, result, [](double a, const double* x, double* y, std::size_t count) {
    daxpy::part(a, x, y, 0, count);
  });
}

}  // namespace

const bench::Kernel bench::kernel = daxpy::description(run);
