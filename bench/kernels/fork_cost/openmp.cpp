// SPDX-License-Identifier: Apache-2.0
// The cost of a fork with OpenMP tasks.
#include "../fibonacci/openmp_fork.hpp"
#include "../openmp_width.hpp"
#include "fork_cost.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  fork_cost::measure(arguments, result, [&](unsigned n, unsigned cutoff) {
    return width.run([&] { return fibonacci::parallel(n, cutoff); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fork_cost::description(run);
