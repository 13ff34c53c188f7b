// SPDX-License-Identifier: Apache-2.0
// n queens on classic tbb::task: a child for every safe placement.
#include <tbb/task.h>

#include "../classic_width.hpp"
#include "nqueens.hpp"

namespace {

using nqueens::Board;
using nqueens::Count;

class Placement : public tbb::task {
 public:
  Placement(const Board& board, Count* result) : board_(board), result_(result) {}

  tbb::task* execute() override {
    if (board_.is_full()) {
      *result_ = 1;
      return nullptr;
    }
    std::array<Count, nqueens::kLargest> found{};
    tbb::task_list children;
    int references = 1;  // the wait's
    for (unsigned column = 0; column < board_.size; ++column) {
      if (!board_.is_safe(column)) continue;
      children.push_back(*new (allocate_child()) Placement(board_.with(column), &found[column]));
      ++references;
    }
    if (references == 1) return nullptr;
    set_ref_count(references);
    spawn_and_wait_for_all(children);
    for (const Count one : found) *result_ += one;
    return nullptr;
  }

 private:
  const Board board_;
  Count* const result_;
};

Count count(const Board& board) {
  Count result = 0;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Placement(board, &result));
  return result;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  nqueens::measure(arguments, result, count);
}

}  // namespace

const bench::Kernel bench::kernel = nqueens::description(run);
