// SPDX-License-Identifier: Apache-2.0
// sub_string_finder with an OpenMP loop whose pieces of the grain size are handed out one by one.
#include "openmp_width.hpp"
#include "sub_string_finder.hpp"

namespace {

sub_string_finder::Find prepare(bench::Arguments& arguments) {
  const bench::Width width(arguments.threads());
  return [](sub_string_finder::Job& job, std::size_t end) {
    const std::size_t grain = job.grain;
#pragma omp parallel for schedule(dynamic, grain)
    for (std::size_t i = 0; i < end; ++i) job.find(i, i + 1);
  };
}

}  // namespace

const bench::Kernel bench::kernel = sub_string_finder::kernel(prepare);
