// SPDX-License-Identifier: Apache-2.0
// Many threads and uneven bodies, without a scheduler.
#include "../wide_loops_serial.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::Loop loop(arguments.threads());
  wide::uneven(arguments, result, loop);
}

}  // namespace

const bench::Kernel bench::kernel = wide::uneven_description(run);
