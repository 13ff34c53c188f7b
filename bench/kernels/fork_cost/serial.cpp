// SPDX-License-Identifier: Apache-2.0
// The cost of a fork: the bare calls, of which none forks.
#include "fork_cost.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  fork_cost::measure(arguments, result, [](unsigned n, unsigned) { return fibonacci::serial(n); });
}

}  // namespace

const bench::Kernel bench::kernel = fork_cost::description(run);
