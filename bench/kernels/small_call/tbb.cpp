// SPDX-License-Identifier: Apache-2.0
// A loop of two iterations with the oneTBB API: the default partitioner.
#include "../tbb_width.hpp"
#include "small_call.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  small_call::measure(
      arguments, result, [&](const auto& work) { return width.run(work); },
      [](const auto& body) { tbb::parallel_for(0, small_call::kIterations, body); });
}

}  // namespace

const bench::Kernel bench::kernel = small_call::description(run);
