// SPDX-License-Identifier: Apache-2.0
// Fibonacci on classic tbb::task: plain, +C, +CB, +CBR.
#include "../classic_width.hpp"
#include "classic_fork.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  bench::with_tricks(arguments.text("variant", "plain"), [&](auto tricks) {
    fibonacci::measure(arguments, result, fibonacci::parallel<tricks.value>);
  });
}

}  // namespace

const bench::Kernel bench::kernel = fibonacci::description(run);
