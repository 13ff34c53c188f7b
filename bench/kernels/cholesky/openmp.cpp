// SPDX-License-Identifier: Apache-2.0
// Cholesky's factorisation with OpenMP: a task for every operation on a tile, with dependencies.
#include "cholesky.hpp"

#include <vector>

#include "../openmp_width.hpp"

namespace {

int factor(cholesky::Matrix& matrix) {
  const std::size_t tiles = matrix.tiles();
  std::vector<char> marks(tiles * tiles);            // their addresses stand for the tiles
  [[maybe_unused]] char* const mark = marks.data();  // gcc does not count depend()
  cholesky::Matrix* const all = &matrix;             // a task copies what a reference refers to
  for (std::size_t k = 0; k < tiles; ++k) {
    const std::size_t diagonal = k * tiles + k;
#pragma omp task firstprivate(all, k) depend(inout : mark[diagonal])
    all->factor(k);
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const std::size_t own = i * tiles + k;
#pragma omp task firstprivate(all, i, k) depend(in : mark[diagonal]) depend(inout : mark[own])
      all->solve(i, k);
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      for (std::size_t j = k + 1; j <= i; ++j) {
        const std::size_t left = i * tiles + k, right = j * tiles + k, own = i * tiles + j;
#pragma omp task firstprivate(all, i, j, k) depend(in : mark[left], mark[right]) \
    depend(inout : mark[own])
        all->update(i, j, k);
      }
    }
  }
#pragma omp taskwait
  return 0;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  cholesky::measure(arguments, result,
                    [&](cholesky::Matrix& matrix) { width.run([&] { return factor(matrix); }); });
}

}  // namespace

const bench::Kernel bench::kernel = cholesky::description(run);
