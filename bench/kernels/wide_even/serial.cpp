// SPDX-License-Identifier: Apache-2.0
// Many threads and even bodies, without a scheduler.
#include "../wide_loops_serial.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::Loop loop(arguments.threads());
  wide::even(arguments, result, loop);
}

}  // namespace

const bench::Kernel bench::kernel = wide::even_description(run);
