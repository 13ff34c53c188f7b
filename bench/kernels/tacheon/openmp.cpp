// SPDX-License-Identifier: Apache-2.0
// tacheon with an OpenMP loop over as many pieces as halving gives, handed out one by one.
#include "halves.hpp"
#include "openmp_width.hpp"
#include "tacheon.hpp"

namespace {

tacheon::Draw prepare(bench::Arguments& arguments) {
  const bench::Width width(arguments.threads());
  return [](tacheon::Job& job, std::size_t end) {
    const int pieces = bench::parts_by_halving(end, job.grain);
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < pieces; ++i) {
      job.draw(bench::begin_of_part(end, i, pieces), bench::begin_of_part(end, i + 1, pieces));
    }
  };
}

}  // namespace

const bench::Kernel bench::kernel = tacheon::kernel(prepare);
