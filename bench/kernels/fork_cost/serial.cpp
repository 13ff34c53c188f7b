// SPDX-License-Identifier: Apache-2.0
// The cost of a fork: the bare calls, without a fork.
#include "../serial_repeats.hpp"
#include "fork_cost.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result, [&](bench::Result& once) {
    fork_cost::measure(arguments, once, [](unsigned n, unsigned) { return fibonacci::serial(n); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fork_cost::description(run);
