// SPDX-License-Identifier: Apache-2.0
// n queens with OpenMP tasks: one for every safe placement.
#include "../openmp_width.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;
using nqueens::Count;

Count count(const Board& board) {
  if (board.is_full()) return 1;
  std::array<Count, nqueens::kLargest> found{};
  for (unsigned column = 0; column < board.size; ++column) {
    if (!board.is_safe(column)) continue;
    const Board next = board.with(column);
#pragma omp task firstprivate(next, column) shared(found)
    found[column] = count(next);
  }
#pragma omp taskwait
  Count sum = 0;
  for (const Count one : found) sum += one;
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  nqueens::measure(arguments, result,
                   [&](const Board& board) { return width.run([&] { return count(board); }); });
}

}  // namespace

const bench::Kernel bench::kernel = nqueens::description(run);
