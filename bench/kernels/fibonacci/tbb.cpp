// SPDX-License-Identifier: Apache-2.0
// Fibonacci with the oneTBB API.
#include "../tbb_width.hpp"
#include "tbb_fork.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  fibonacci::measure(arguments, result, [&](unsigned n, unsigned cutoff) {
    return width.run([&] { return fibonacci::parallel(n, cutoff); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fibonacci::description(run);
