// SPDX-License-Identifier: Apache-2.0
// Fibonacci: the optimised serial program, which knows no cut-off.
#include "fibonacci.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  fibonacci::measure(arguments, result, [](unsigned n, unsigned) { return fibonacci::serial(n); });
}

}  // namespace

const bench::Kernel bench::kernel = fibonacci::description(run);
