// SPDX-License-Identifier: Apache-2.0
// sub_string_finder with an OpenMP loop over as many pieces as halving gives, handed out one by
// one.
#include "halves.hpp"
#include "openmp_width.hpp"
#include "sub_string_finder.hpp"

namespace {

sub_string_finder::Find prepare(bench::Arguments& arguments) {
  const bench::Width width(arguments.threads());
  return [](sub_string_finder::Job& job, std::size_t end) {
    const int pieces = bench::parts_by_halving(end, job.grain);
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < pieces; ++i) {
      job.find(bench::begin_of_part(end, i, pieces), bench::begin_of_part(end, i + 1, pieces));
    }
  };
}

}  // namespace

const bench::Kernel bench::kernel = sub_string_finder::kernel(prepare);
