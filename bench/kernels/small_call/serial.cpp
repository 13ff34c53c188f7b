// SPDX-License-Identifier: Apache-2.0
// A loop of two iterations: the serial program.
#include "../serial_repeats.hpp"
#include "small_call.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result, [&](bench::Result& once) {
    small_call::measure(
        arguments, once, [](const auto& work) { return work(); },
        [](const auto& body) {
          for (int i = 0; i < small_call::kIterations; ++i) body(i);
        });
  });
}

}  // namespace

const bench::Kernel bench::kernel = small_call::description(run);
