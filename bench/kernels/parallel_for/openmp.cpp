// SPDX-License-Identifier: Apache-2.0
// The empty loop with OpenMP. For a grain size it uses schedule(dynamic), as OpenMP programs do
// (taskloop would create all tasks in one thread). schedule(static), the usual default, stands for
// a part size that the library chooses.
#include "../halves.hpp"
#include "../openmp_width.hpp"
#include "parallel_for.hpp"

namespace {

template <typename Part>
void loop(std::uint64_t count, std::uint64_t grain, Part) {
  // The loops are over parts and not iterations, so that the table can record the parts.
  const auto iterate = [count](int part, int parts) {
    Part::iterate(bench::begin_of_part(count, part, parts),
                  bench::begin_of_part(count, part + 1, parts));
  };
  if (grain != 0) {
    const int parts = bench::parts_by_halving(count, grain);
#pragma omp parallel for schedule(dynamic, 1)
    for (int part = 0; part < parts; ++part) iterate(part, parts);
    return;
  }
#pragma omp parallel
  {
    const int parts = omp_get_num_threads();
#pragma omp for schedule(static, 1)
    for (int part = 0; part < parts; ++part) iterate(part, parts);
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  parallel_for::measure(arguments, result, [](auto... words) { loop(words...); });
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
