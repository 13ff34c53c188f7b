// SPDX-License-Identifier: Apache-2.0
// Submit and go on: the call of each task.
#include "submit.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  submit::measure(arguments, result, [](submit::Tasks& tasks, double gap) {
    tasks.run(gap, [&](std::size_t i) { tasks(i); });
  });
}

}  // namespace

const bench::Kernel bench::kernel = submit::description(run);
