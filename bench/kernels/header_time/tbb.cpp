// SPDX-License-Identifier: Apache-2.0
// The compile time of the headers of the oneTBB API.
#include "header_time.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::string header = arguments.text("header", "concurrent_vector");
  header_time::measure(result, BENCH_COMPILER, "tbb/" + header + ".h");
}

}  // namespace

const bench::Kernel bench::kernel = header_time::description(run);
