// SPDX-License-Identifier: Apache-2.0
// Fibonacci: the optimised serial program, without a cut-off.
#include "../serial_repeats.hpp"
#include "fibonacci.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result, [&](bench::Result& once) {
    fibonacci::measure(arguments, once, [](unsigned n, unsigned) { return fibonacci::serial(n); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fibonacci::description(run);
