// SPDX-License-Identifier: Apache-2.0
// The wake-ups of a call with the oneTBB API.
#include "../wide_counts_tbb.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::count_calls(arguments, result, wide::Runner(arguments.threads()));
}

}  // namespace

const bench::Kernel bench::kernel = wide::calls_description(run);
