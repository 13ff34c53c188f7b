// SPDX-License-Identifier: Apache-2.0
// The wavefront: the serial program, in the same tiles.
#include "wavefront.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  wavefront::measure(arguments, result, [](wavefront::Table& table) {
    for (std::size_t i = 0; i < table.tiles(); ++i) {
      for (std::size_t j = 0; j < table.tiles(); ++j) table.compute(i, j);
    }
  });
}

}  // namespace

const bench::Kernel bench::kernel = wavefront::description(run);
