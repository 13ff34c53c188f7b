// SPDX-License-Identifier: Apache-2.0
// The locked instructions of a task with the oneTBB API.
#include "../wide_counts_tbb.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::count_locked(arguments, result, wide::Runner(arguments.threads()));
}

}  // namespace

const bench::Kernel bench::kernel = wide::locked_description(run);
