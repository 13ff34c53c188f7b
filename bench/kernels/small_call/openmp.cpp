// SPDX-License-Identifier: Apache-2.0
// A loop of two iterations with OpenMP: the default schedule. The calls are made outside any team,
// as in a program that only has parallel loops.
#include "../openmp_width.hpp"
#include "small_call.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const bench::Width width(arguments.threads());
  small_call::measure(
      arguments, result, [](const auto& work) { return work(); },
      [](const auto& body) {
#pragma omp parallel for
        for (int i = 0; i < small_call::kIterations; ++i) body(i);
      });
}

}  // namespace

const bench::Kernel bench::kernel = small_call::description(run);
