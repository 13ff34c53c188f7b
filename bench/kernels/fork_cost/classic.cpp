// SPDX-License-Identifier: Apache-2.0
// The cost of a fork on classic tbb::task: plain, +C, +CB, +CBR.
#include "../classic_width.hpp"
#include "../fibonacci/classic_fork.hpp"
#include "fork_cost.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  bench::with_tricks(arguments.text("variant", "plain"), [&](auto tricks) {
    fork_cost::measure(arguments, result, fibonacci::parallel<tricks.value>);
  });
}

}  // namespace

const bench::Kernel bench::kernel = fork_cost::description(run);
