// SPDX-License-Identifier: Apache-2.0
// The sum of floats: the serial program.
#include "reduce.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  reduce::measure(arguments, result, [](const float* values, std::size_t count) {
    return reduce::sum(values, values + count);
  });
}

}  // namespace

const bench::Kernel bench::kernel = reduce::description(run);
