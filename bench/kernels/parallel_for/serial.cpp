// SPDX-License-Identifier: Apache-2.0
// The empty loop: the serial program, one part for any grain size.
#include "../serial_repeats.hpp"
#include "parallel_for.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result, [&](bench::Result& once) {
    parallel_for::measure(arguments, once, [](std::uint64_t count, std::uint64_t, auto part) {
      part.iterate(0, count);
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
