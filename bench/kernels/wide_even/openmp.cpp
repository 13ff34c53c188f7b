// SPDX-License-Identifier: Apache-2.0
// Many threads and even bodies, with OpenMP.
#include "../wide_loops_openmp.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wide::Loop loop(arguments.threads());
  wide::even(arguments, result, loop);
}

}  // namespace

const bench::Kernel bench::kernel = wide::even_description(run);
