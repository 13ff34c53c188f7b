// SPDX-License-Identifier: Apache-2.0
// The empty loop: the serial program, one part whatever the grain size.
#include "parallel_for.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  parallel_for::measure(arguments, result, [](std::uint64_t count, std::uint64_t) {
    parallel_for::iterate(0, count);
  });
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
