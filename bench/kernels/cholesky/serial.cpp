// SPDX-License-Identifier: Apache-2.0
// Cholesky's factorisation: the serial program, in the same tiles.
#include "cholesky.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  cholesky::measure(arguments, result, [](cholesky::Matrix& matrix) {
    for (std::size_t k = 0; k < matrix.tiles(); ++k) {
      matrix.factor(k);
      for (std::size_t i = k + 1; i < matrix.tiles(); ++i) matrix.solve(i, k);
      for (std::size_t i = k + 1; i < matrix.tiles(); ++i) {
        for (std::size_t j = k + 1; j <= i; ++j) matrix.update(i, j, k);
      }
    }
  });
}

}  // namespace

const bench::Kernel bench::kernel = cholesky::description(run);
