// SPDX-License-Identifier: Apache-2.0
// The locked instructions of a task with OpenMP.
#include "../wide_counts_openmp.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::count_locked(arguments, result, wide::Runner(arguments.threads()));
}

}  // namespace

const bench::Kernel bench::kernel = wide::locked_description(run);
