// SPDX-License-Identifier: Apache-2.0
// What the library takes for the number of processors.
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "life.hpp"

int main() {
  say("default", tbb::info::default_concurrency());
  say("of the arena", tbb::this_task_arena::max_concurrency());
  say("of a new one", tbb::task_arena().max_concurrency());
  say("allowed",
      long(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism)));
  // Nothing hangs, however few there are.
  std::atomic<long> count{0};
  tbb::parallel_for(0, 1000, [&](int) { ++count; });
  tbb::task_arena arena(1);
  for (int i = 0; i < 10; ++i) {
    arena.enqueue([&] {
      tbb::task_group group;
      group.run([&] { ++count; });
      group.wait();
      tbb::this_task_arena::enqueue([&] { ++count; });
    });
  }
  wait_for([&] { return count == 1020; });
  say("tasks", count);
  return 0;
}
