// SPDX-License-Identifier: Apache-2.0
// All ways to place n queens so that none attacks another. The safe placements in a row are tasks,
// except for the last: the thread that finds them continues with it if the interface allows it.
#pragma once

#include <array>

#include "../harness.hpp"

namespace nqueens {

inline constexpr unsigned kLargest = 16;
using Count = std::uint64_t;

// The columns of the queens in the first `rows` rows. A task has a copy of its own.
struct Board {
  unsigned size = 0;
  unsigned rows = 0;
  std::array<unsigned char, kLargest> column{};

  bool is_full() const { return rows == size; }

  // Checks every earlier queen. A program without this loop would measure only the cost of the
  // scheduler.
  bool is_safe(unsigned candidate) const {
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned distance = rows - row, other = column[row];
      if (other == candidate || other + distance == candidate || candidate + distance == other) {
        return false;
      }
    }
    return true;
  }

  // Writes the safe columns of the next row to `columns`; returns their number.
  unsigned find_safe(std::array<unsigned char, kLargest>& safe) const {
    unsigned found = 0;
    for (unsigned candidate = 0; candidate < size; ++candidate) {
      if (is_safe(candidate)) safe[found++] = static_cast<unsigned char>(candidate);
    }
    return found;
  }

  Board with(unsigned candidate) const {
    Board next = *this;
    next.column[next.rows++] = static_cast<unsigned char>(candidate);
    return next;
  }
};

// `count(board)` returns the number of solutions that start with the board.
template <typename CountAll>
void measure(bench::Arguments& arguments, bench::Result& result, const CountAll& count) {
  static constexpr std::array<Count, kLargest + 1> kSolutions = {
      1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
  const auto n = static_cast<unsigned>(arguments.number("n", 8));
  bench::check(n >= 1 && n <= kLargest, "n= is from 1 to 16");
  count(Board{.size = 5});  // warms the library up
  const double begin = bench::now();
  result.checksum = count(Board{.size = n});
  result.seconds = result.value = bench::now() - begin;
  bench::check(result.checksum == kSolutions[n], "not the number of solutions");
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "nqueens",
      .title = "n queens",
      .what =
          "Counts all placements of n queens, with a task for each safe placement of one queen. "
          "The tasks form an irregular tree and are small, and each copies its own board.",
      .group = "modern scheduler",
      .plot = "speedup",
      .threads = {1, 2, 4},
      .cases = {{"", "n=11", "n=12", "n=13"}},
      .run = run,
  };
}

}  // namespace nqueens
