// SPDX-License-Identifier: Apache-2.0
// The cost of a fork with the oneTBB API: parallel_invoke, and task_group::run.
#include "../fibonacci/tbb_fork.hpp"
#include "../tbb_width.hpp"
#include "fork_cost.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::string variant = arguments.text("variant", "plain");
  const bool in_group = variant == "task_group";
  bench::check(in_group || variant == "plain", "variant= is plain or task_group");
  bench::Width width(arguments.threads());
  fork_cost::measure(arguments, result, [&](unsigned n, unsigned cutoff) {
    return width.run([&] {
      return in_group ? fibonacci::parallel_in_group(n, cutoff) : fibonacci::parallel(n, cutoff);
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = fork_cost::description(run);
