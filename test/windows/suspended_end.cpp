// SPDX-License-Identifier: Apache-2.0
// A thread ends while a task is suspended on one of its stacks. It does not wait for the task: the
// loader's lock would keep the thread that resumes it from starting.
#include <tbb/global_control.h>
#include <tbb/task.h>
#include <tbb/task_group.h>

#include <atomic>

#include "checks.hpp"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace {

std::atomic<tbb::task::suspend_point> point{nullptr};
std::atomic<bool> has_gone_on{false};

DWORD WINAPI leave_suspended(void*) {
  auto* const group = new tbb::task_group;  // never awaited
  tbb::task_group other;
  static tbb::task::suspend_point first;
  // The wait runs the newest task first. That lies on the thread's own stack; the other one runs
  // while it is suspended, on another stack.
  group->run([] {
    tbb::task::suspend([](tbb::task::suspend_point p) {
      point = p;
      tbb::task::resume(first);
    });
    has_gone_on = true;
  });
  other.run([] { tbb::task::suspend([](tbb::task::suspend_point p) { first = p; }); });
  other.wait();
  return 0;
}

DWORD WINAPI resume(void*) {
  tbb::task::resume(point);
  return 0;
}

void run(LPTHREAD_START_ROUTINE function) {
  const HANDLE thread = CreateThread(nullptr, 0, function, nullptr, 0, nullptr);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}

}  // namespace

int main() {
  // No worker takes the tasks.
  const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
  run(leave_suspended);
  check(point != nullptr, "the task has been suspended");
  run(resume);
  check(!has_gone_on, "it is abandoned");
  tbb::task_group group;
  std::atomic<int> calls{0};
  for (int i = 0; i < 10; ++i) group.run([&] { ++calls; });
  group.wait();
  check(calls == 10, "other threads go on");
  return report();
}
