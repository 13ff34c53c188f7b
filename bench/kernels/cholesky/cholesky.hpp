// SPDX-License-Identifier: Apache-2.0
// Cholesky's factorisation A = L L' of a symmetric matrix by tiles, the usual example of tasks with
// dependencies (Buttari, Langou, Kurzak, Dongarra, Parallel Computing 35, 2009). The bodies are
// plain loops, the same for all contestants.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../harness.hpp"

namespace cholesky {

// The lower half of a symmetric matrix, by tiles.
class Matrix {
 public:
  Matrix(std::size_t tiles, std::size_t side)
      : tiles_(tiles), side_(side), values_(tiles * tiles * side * side) {
    bench::Random random(1);
    for (double& value : values_) value = static_cast<double>(random.below(1000)) * 1e-3;
    for (std::size_t k = 0; k < tiles * side; ++k) {
      tile(k / side, k / side)[k % side * (side + 1)] += static_cast<double>(2 * tiles * side);
    }
  }

  std::size_t tiles() const { return tiles_; }

  // The tile on the diagonal is factored.
  void factor(std::size_t k) {
    double* const a = tile(k, k);
    for (std::size_t j = 0; j < side_; ++j) {
      double* const own = a + j * side_;
      for (std::size_t c = 0; c < j; ++c) own[j] -= own[c] * own[c];
      own[j] = std::sqrt(own[j]);
      for (std::size_t i = j + 1; i < side_; ++i) {
        double* const row = a + i * side_;
        for (std::size_t c = 0; c < j; ++c) row[j] -= row[c] * own[c];
        row[j] /= own[j];
      }
    }
  }

  // A tile below it is solved by it.
  void solve(std::size_t i, std::size_t k) {
    const double* const l = tile(k, k);
    double* const a = tile(i, k);
    for (std::size_t row = 0; row < side_; ++row) {
      double* const own = a + row * side_;
      for (std::size_t j = 0; j < side_; ++j) {
        for (std::size_t c = 0; c < j; ++c) own[j] -= own[c] * l[j * side_ + c];
        own[j] /= l[j * side_ + j];
      }
    }
  }

  // Tile (i, j) loses the product of (i, k) and (j, k).
  void update(std::size_t i, std::size_t j, std::size_t k) {
    const double *const left = tile(i, k), *const right = tile(j, k);
    double* const a = tile(i, j);
    for (std::size_t row = 0; row < side_; ++row) {
      for (std::size_t column = 0; column < side_; ++column) {
        double sum = 0;
        for (std::size_t c = 0; c < side_; ++c) {
          sum += left[row * side_ + c] * right[column * side_ + c];
        }
        a[row * side_ + column] -= sum;
      }
    }
  }

  // The logarithm of the determinant, and the sum of the factor's last row.
  double logarithm() const {
    double sum = 0;
    for (std::size_t k = 0; k < tiles_ * side_; ++k) {
      sum += std::log(tile(k / side_, k / side_)[k % side_ * (side_ + 1)]);
    }
    const double* const last = tile(tiles_ - 1, 0) + side_ * (side_ - 1);
    for (std::size_t c = 0; c < side_; ++c) sum += last[c];
    return sum;
  }

 private:
  double* tile(std::size_t i, std::size_t j) {
    return values_.data() + (i * tiles_ + j) * side_ * side_;
  }
  const double* tile(std::size_t i, std::size_t j) const {
    return values_.data() + (i * tiles_ + j) * side_ * side_;
  }

  const std::size_t tiles_, side_;
  std::vector<double> values_;
};

// `call(matrix)` factors the matrix.
template <typename Call>
void measure(bench::Arguments& arguments, bench::Result& result, const Call& call) {
  Matrix matrix(arguments.number("tiles", 12), arguments.number("side", 32));
  const double begin = bench::now();
  call(matrix);
  result.seconds = bench::now() - begin;
  result.value = result.seconds;
  // The order of operations on a tile is fixed, but compilers may round differently.
  result.checksum = static_cast<std::uint64_t>(std::llround(matrix.logarithm() * 1e3));
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "cholesky",
      .title = "Cholesky factorisation by tiles",
      .what =
          "A symmetric matrix is factored tile by tile, in tasks that depend on each other. "
          "Building the graph or creating the tasks is part of the time.",
      .group = "flow graph",
      .plot = "speedup",
      .threads = {1, 2, 4},
      .cases = {{"tiles of 8", "tiles=60 side=8", "tiles=140 side=8", "tiles=200 side=8"},
                {"tiles of 32", "tiles=24 side=32", "tiles=50 side=32", "tiles=80 side=32"}},
      .run = run,
  };
}

}  // namespace cholesky
