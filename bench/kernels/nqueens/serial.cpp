// SPDX-License-Identifier: Apache-2.0
// n queens: the serial program.
#include "../serial_repeats.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;

nqueens::Count count(const Board& board) {
  if (board.is_full()) return 1;
  nqueens::Count sum = 0;
  for (unsigned column = 0; column < board.size; ++column) {
    if (board.is_safe(column)) sum += count(board.with(column));
  }
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result,
                         [&](bench::Result& once) { nqueens::measure(arguments, once, count); });
}

}  // namespace

const bench::Kernel bench::kernel = nqueens::description(run);
