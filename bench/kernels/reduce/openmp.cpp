// SPDX-License-Identifier: Apache-2.0
// The sum of floats with OpenMP's reduction over blocks and its default schedule.
#include <algorithm>

#include "../openmp_width.hpp"
#include "reduce.hpp"

namespace {

double total(const float* values, std::size_t count) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::size_t begin = 0; begin < count; begin += reduce::kBlock) {
    sum += reduce::sum(values + begin, values + std::min(begin + reduce::kBlock, count));
  }
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  reduce::measure(arguments, result, total);
}

}  // namespace

const bench::Kernel bench::kernel = reduce::description(run);
