// SPDX-License-Identifier: Apache-2.0
// A call in which several threads of an arena take part.
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "life.hpp"

// Runs so many tasks in the arena, each of which waits for all others: without a thread for each,
// the call never ends. Returns their number.
inline long meet(tbb::task_arena& arena, int tasks) {
  std::atomic<long> inside{0};
  arena.execute([&] {
    tbb::task_group group;
    for (int i = 0; i < tasks; ++i) {
      group.run([&] {
        ++inside;
        wait_for([&] { return inside == tasks; });
      });
    }
    group.wait();
  });
  return inside;
}
