// SPDX-License-Identifier: Apache-2.0
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

extern "C" __attribute__((visibility("default"))) int plugin_compute() {
  std::atomic<int> calls{0};
  tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; }, [&] { ++calls; });
  tbb::task_arena arena(2);
  arena.enqueue([&] { ++calls; });
  while (calls != 4) std::this_thread::yield();
  return calls;
}
