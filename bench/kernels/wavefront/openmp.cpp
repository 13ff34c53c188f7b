// SPDX-License-Identifier: Apache-2.0
// The wavefront with OpenMP: a task for every tile, which depends on two others.
#include "wavefront.hpp"

#include <vector>

#include "../openmp_width.hpp"

namespace {

int compute(wavefront::Table& table) {
  const std::size_t tiles = table.tiles(), wide = tiles + 1;
  std::vector<char> marks(wide * wide);              // their addresses stand for the tiles
  [[maybe_unused]] char* const mark = marks.data();  // gcc does not count depend()
  wavefront::Table* const all = &table;              // a task copies what a reference refers to
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j < tiles; ++j) {
      const std::size_t above = i * wide + j + 1, beside = (i + 1) * wide + j, own = above + wide;
#pragma omp task firstprivate(all, i, j) depend(in : mark[above], mark[beside]) \
    depend(out : mark[own])
      all->compute(i, j);
    }
  }
#pragma omp taskwait
  return 0;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  wavefront::measure(arguments, result,
                     [&](wavefront::Table& table) { width.run([&] { return compute(table); }); });
}

}  // namespace

const bench::Kernel bench::kernel = wavefront::description(run);
