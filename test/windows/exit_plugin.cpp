// SPDX-License-Identifier: Apache-2.0
// A library that uses the scheduler in its static destructors, for exit_user.cpp. The system has
// ended the workers by then.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <atomic>
#include <cstring>
#include <new>
#include <thread>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace {

std::atomic<bool> worker_is_there{false};

struct Observer : tbb::task_scheduler_observer {
  using tbb::task_scheduler_observer::task_scheduler_observer;
  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    worker_is_there = true;
    Sleep(INFINITE);
  }
};

// What the destructor of `at_exit` does.
enum class Part { kNothing, kFinalize, kObserver };
constinit Part part = Part::kNothing;
Observer* observer = nullptr;

struct AtExit {
  ~AtExit() {
    if (part == Part::kNothing) return;
    if (part == Part::kObserver) observer->observe(false);
    if (part == Part::kFinalize) {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      if (!tbb::finalize(handle, std::nothrow)) return;
    }
    TerminateProcess(GetCurrentProcess(), 0);
  }
} at_exit;

}  // namespace

extern "C" __declspec(dllexport) void plugin_prepare(const char* name) {
  part = std::strcmp(name, "observer") == 0 ? Part::kObserver : Part::kFinalize;
  static tbb::task_arena& arena = *new tbb::task_arena(2);
  if (part == Part::kObserver) {
    observer = new Observer(arena);
    observer->observe(true);
  }
  arena.enqueue([] { worker_is_there = true; });
  while (!worker_is_there) std::this_thread::yield();
}
