// SPDX-License-Identifier: Apache-2.0
// The wake-ups of a call without a scheduler.
#include "../wide_counts_serial.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::count_calls(arguments, result, wide::Runner(arguments.threads()));
}

}  // namespace

const bench::Kernel bench::kernel = wide::calls_description(run);
