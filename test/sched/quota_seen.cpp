// SPDX-License-Identifier: Apache-2.0
// Checks that the library is as wide as the first argument says, and runs what could hang with one
// processor.
#include <tbb/info.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int, char** arguments) {
  const int expected = std::atoi(arguments[1]);
  if (tbb::info::default_concurrency() != expected ||
      tbb::this_task_arena::max_concurrency() != expected) {
    std::fprintf(stderr, "the width is %d\n", tbb::info::default_concurrency());
    return 1;
  }
  // Main waits outside of the arenas. Their tasks start other tasks.
  for (int width = 1; width < 4; ++width) {
    tbb::task_arena arena(width);
    std::atomic<int> calls{0};
    tbb::task_group group;
    for (int i = 0; i < 10; ++i) {
      arena.enqueue([&] {
        tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; });
        tbb::this_task_arena::enqueue([&] { ++calls; });
      });
      arena.enqueue([&] { ++calls; }, group);
    }
    group.wait();
    while (calls != 40) std::this_thread::yield();
  }
  // A thread ends before any thread has run the task that it leaves.
  tbb::task_group group;
  std::thread([&] {
    for (int i = 0; i < 10; ++i) group.run([] {});
  }).join();
  group.wait();
  return 0;
}
