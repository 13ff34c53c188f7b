// SPDX-License-Identifier: Apache-2.0
// n queens with the oneTBB API: a task group for every board that has a child.
#include <tbb/task_group.h>

#include "../tbb_width.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;
using nqueens::Count;

Count count(const Board& board) {
  if (board.is_full()) return 1;
  std::array<unsigned char, nqueens::kLargest> safe;
  const unsigned length = board.find_safe(safe);
  if (length == 0) return 0;
  if (length == 1) return count(board.with(safe[0]));
  std::array<Count, nqueens::kLargest> found;
  tbb::task_group children;
  for (unsigned i = 0; i + 1 < length; ++i) {
    children.run([next = board.with(safe[i]), &result = found[i]] { result = count(next); });
  }
  Count sum = 0;
  children.run_and_wait([&] { sum = count(board.with(safe[length - 1])); });
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
