// SPDX-License-Identifier: Apache-2.0
// A library that uses the scheduler, for plugin_user.cpp and late_tasks.cpp.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

extern "C" __declspec(dllexport) int plugin_compute() {
  std::atomic<int> calls{0};
  tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; }, [&] { ++calls; });
  {
    tbb::task_arena arena(2);
    arena.enqueue([&] { ++calls; });
    while (calls != 4) std::this_thread::yield();
  }
  try {
    tbb::parallel_for(0, 100, [](int i) {
      if (i == 50) throw std::runtime_error("of the plugin");
    });
  } catch (const std::runtime_error&) {
    ++calls;
  }
  return calls;
}

extern "C" __declspec(dllexport) int plugin_loop() {
  std::atomic<int> calls{0};
  tbb::parallel_for(0, 100, [&](int) { ++calls; });
  return calls;
}

extern "C" __declspec(dllexport) int plugin_finalize() {
  tbb::task_scheduler_handle handle{tbb::attach{}};
  return tbb::finalize(handle, std::nothrow);
}
