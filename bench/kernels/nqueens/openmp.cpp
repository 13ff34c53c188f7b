// SPDX-License-Identifier: Apache-2.0
// n queens with OpenMP tasks: one for every safe placement.
#include "../openmp_width.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;
using nqueens::Count;

Count count(const Board& board) {
  if (board.is_full()) return 1;
  std::array<unsigned char, nqueens::kLargest> safe;
  const unsigned length = board.find_safe(safe);
  if (length == 0) return 0;
  std::array<Count, nqueens::kLargest> found;
  for (unsigned i = 0; i + 1 < length; ++i) {
    const Board next = board.with(safe[i]);
#pragma omp task firstprivate(next, i) shared(found)
    found[i] = count(next);
  }
  Count sum = count(board.with(safe[length - 1]));
#pragma omp taskwait
  for (unsigned i = 0; i + 1 < length; ++i) sum += found[i];
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  nqueens::measure(arguments, result,
                   [&](const Board& board) { return width.run([&] { return count(board); }); });
}

}  // namespace

const bench::Kernel bench::kernel = nqueens::description(run);
