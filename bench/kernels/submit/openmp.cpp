// SPDX-License-Identifier: Apache-2.0
// Submit and go on with OpenMP tasks, which the other threads run at the end of the single region.
#include "../openmp_width.hpp"
#include "submit.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  submit::measure(arguments, result, [&](submit::Tasks& tasks, double gap) {
    submit::Tasks* const all = &tasks;  // a task copies what a reference refers to
    width.run([&] {
      all->run(gap, [all](std::size_t i) {
#pragma omp task firstprivate(all, i)
        (*all)(i);
      });
      return 0;
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = submit::description(run);
