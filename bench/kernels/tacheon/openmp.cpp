// SPDX-License-Identifier: Apache-2.0
// tacheon with an OpenMP loop whose pieces of the grain size are handed out one by one.
#include "openmp_width.hpp"
#include "tacheon.hpp"

namespace {

tacheon::Draw prepare(bench::Arguments& arguments) {
  const bench::Width width(arguments.threads());
  return [](tacheon::Job& job, std::size_t end) {
    const std::size_t grain = job.grain;
#pragma omp parallel for schedule(dynamic, grain)
    for (std::size_t i = 0; i < end; ++i) job.draw(i, i + 1);
  };
}

}  // namespace

const bench::Kernel bench::kernel = tacheon::kernel(prepare);
