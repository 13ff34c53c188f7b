// SPDX-License-Identifier: Apache-2.0
// Fibonacci with OpenMP tasks.
#include "../openmp_width.hpp"
#include "openmp_fork.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  fibonacci::measure(arguments, result, [&](unsigned n, unsigned cutoff) {
    return width.run([&] { return fibonacci::parallel(n, cutoff); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fibonacci::description(run);
