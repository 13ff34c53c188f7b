// SPDX-License-Identifier: Apache-2.0
// Submit and go on with the oneTBB API: task_arena::enqueue, and task_group::run.
#include <tbb/task_group.h>

#include "../tbb_width.hpp"
#include "submit.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::string variant = arguments.text("variant", "plain");
  const bool in_group = variant == "task_group";
  bench::check(in_group || variant == "plain", "variant= is plain or task_group");
  const auto threads = static_cast<int>(arguments.threads());
  submit::measure(arguments, result, [&](submit::Tasks& tasks, double gap) {
    if (in_group) {
      bench::Width width(arguments.threads());
      width.run([&] {
        tbb::task_group group;
        tasks.run(gap, [&](std::size_t i) { group.run([&tasks, i] { tasks(i); }); });
        group.wait();
        return 0;
      });
    } else {
      tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                static_cast<std::size_t>(threads));
      tbb::task_arena arena(threads);
      tasks.run(gap, [&](std::size_t i) { arena.enqueue([&tasks, i] { tasks(i); }); });
    }
  });
}

}  // namespace

const bench::Kernel bench::kernel = submit::description(run);
