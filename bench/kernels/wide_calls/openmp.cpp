// SPDX-License-Identifier: Apache-2.0
// The wake-ups of a call with OpenMP.
#include "../wide_counts_openmp.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::count_calls(arguments, result, wide::Runner(arguments.threads()));
}

}  // namespace

const bench::Kernel bench::kernel = wide::calls_description(run);
