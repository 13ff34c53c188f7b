// SPDX-License-Identifier: Apache-2.0
// The empty loop with OpenMP: schedule(dynamic) hands out parts of the grain size, which is how an
// OpenMP program asks for it (taskloop would make all tasks in one thread), and schedule(static),
// the usual default, stands for a part size of the library's choice.
#include "../openmp_width.hpp"
#include "parallel_for.hpp"

namespace {

void loop(std::uint64_t count, std::uint64_t grain) {
  // The loop is over parts, not iterations, so that the parts can be entered in the table.
  if (grain != 0) {
#pragma omp parallel for schedule(dynamic, 1)
    for (std::uint64_t begin = 0; begin < count; begin += grain) {
      parallel_for::iterate(begin, count - begin < grain ? count : begin + grain);
    }
    return;
  }
#pragma omp parallel
  {
    const auto threads = static_cast<std::uint64_t>(omp_get_num_threads());
#pragma omp for schedule(static, 1)
    for (std::uint64_t i = 0; i < threads; ++i) {
      parallel_for::iterate(count * i / threads, count * (i + 1) / threads);
    }
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  parallel_for::measure(arguments, result, loop);
}

}  // namespace

const bench::Kernel bench::kernel = parallel_for::description(run);
