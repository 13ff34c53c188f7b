// SPDX-License-Identifier: Apache-2.0
// A wavefront: the longest common subsequence of two sequences by dynamic programming, in tiles
// that each need the tiles above and to the left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../harness.hpp"

namespace wavefront {

// The table of a run. Of every row of tiles only the lower edges are kept, and of every column the
// right ones.
class Table {
 public:
  Table(std::size_t tiles, std::size_t side)
      : tiles_(tiles),
        side_(side),
        left_(tiles * side),
        top_(tiles * side),
        below_(tiles * side + 1),
        right_(tiles * side + 1),
        corner_((tiles + 1) * (tiles + 1)) {
    bench::Random random(1);
    for (std::uint8_t& letter : left_) letter = static_cast<std::uint8_t>(random.below(4));
    for (std::uint8_t& letter : top_) letter = static_cast<std::uint8_t>(random.below(4));
  }

  std::size_t tiles() const { return tiles_; }

  // Computes the tile in row i and column j.
  void compute(std::size_t i, std::size_t j) {
    std::uint32_t* const above = below_.data() + j * side_;
    std::uint32_t* const beside = right_.data() + i * side_;
    std::uint32_t diagonal_of_row = corner_[i * (tiles_ + 1) + j];
    for (std::size_t row = 0; row < side_; ++row) {
      std::uint32_t diagonal = diagonal_of_row, before = beside[row];
      diagonal_of_row = before;
      const std::uint8_t letter = left_[i * side_ + row];
      for (std::size_t column = 0; column < side_; ++column) {
        const std::uint32_t up = above[column];
        before = letter == top_[j * side_ + column] ? diagonal + 1 : std::max(up, before);
        diagonal = up;
        above[column] = before;
      }
      beside[row] = before;
    }
    corner_[(i + 1) * (tiles_ + 1) + j + 1] = above[side_ - 1];
  }

  // The length of the longest common subsequence, once all tiles are computed.
  std::uint32_t result() const { return corner_.back(); }

 private:
  const std::size_t tiles_, side_;
  std::vector<std::uint8_t> left_, top_;
  std::vector<std::uint32_t> below_, right_;  // edges of the tiles, by column and by row
  std::vector<std::uint32_t> corner_;         // the last value of the tile above and to the left
};

// `call(table)` computes all tiles.
template <typename Call>
void measure(bench::Arguments& arguments, bench::Result& result, const Call& call) {
  const std::uint64_t tiles = arguments.number("tiles", 100), side = arguments.number("side", 8);
  bench::check(tiles > 0 && side > 0, "tiles= and side= are at least 1");
  Table table(tiles, side);
  const double begin = bench::now();
  call(table);
  result.seconds = bench::now() - begin;
  result.value = result.seconds;
  result.checksum = table.result();
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wavefront",
      .title = "Wavefront",
      .what =
          "The longest common subsequence by dynamic programming in square tiles, each of "
          "which waits for the two tiles above and to the left. Building the graph, of a "
          "continue_node for every tile, or creating the tasks is part of the time.",
      .group = "flow graph",
      .plot = "speedup",
      .threads = {1, 2, 4},
      .cases = {{"tiles of 8", "tiles=250 side=8", "tiles=600 side=8", "tiles=1000 side=8"},
                {"tiles of 32", "tiles=160 side=32", "tiles=500 side=32", "tiles=1000 side=32"}},
      .run = run,
  };
}

}  // namespace wavefront
