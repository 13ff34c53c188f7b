// SPDX-License-Identifier: Apache-2.0
// n queens with the oneTBB API: a task group for every board that has a child.
#include <tbb/task_group.h>

#include <optional>

#include "../tbb_width.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;
using nqueens::Count;

Count count(const Board& board) {
  if (board.is_full()) return 1;
  std::array<Count, nqueens::kLargest> found{};
  std::optional<tbb::task_group> children;  // not on a board where no queen is safe
  for (unsigned column = 0; column < board.size; ++column) {
    if (!board.is_safe(column)) continue;
    if (!children) children.emplace();
    children->run([next = board.with(column), &result = found[column]] { result = count(next); });
  }
  if (!children) return 0;
  children->wait();
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
