// SPDX-License-Identifier: Apache-2.0
// Runs a command once and measures it: the process itself, without its children.
//
// The figures of a process that has ended stay with its handle on Windows, but for its memory not
// in Wine. So the memory is also read while the process runs, a few hundred times a second.
#include "compare/measure.hpp"

#include <io.h>
#include <windows.h>
// After windows.h.
#include <psapi.h>

#include <algorithm>
#include <map>

#include "run/windows/ntdll.hpp"
#include "run/windows/start.hpp"

namespace corbel::cli {
namespace {

double seconds(const FILETIME& time) {
  return static_cast<double>(std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime) * 1e-7;
}

double now() {
  LARGE_INTEGER count{}, frequency{};
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&frequency);
  return static_cast<double>(count.QuadPart) / static_cast<double>(frequency.QuadPart);
}

// The time that all processors together have been busy.
double machine_busy() {
  FILETIME idle{}, kernel{}, user{};
  if (!GetSystemTimes(&idle, &kernel, &user)) return 0;
  return seconds(kernel) + seconds(user) - seconds(idle);  // the kernel's includes the idle time
}

// Keeps the highest figures; false when there are none.
bool note_memory(HANDLE process, RunResult& result) {
  PROCESS_MEMORY_COUNTERS memory{};
  if (!K32GetProcessMemoryInfo(process, &memory, sizeof memory)) return false;
  result.peak_rss = std::max<std::uint64_t>(result.peak_rss, memory.PeakWorkingSetSize);
  result.peak_commit = std::max<std::uint64_t>(result.peak_commit, memory.PeakPagefileUsage);
  result.minor_faults = std::max<std::uint64_t>(result.minor_faults, memory.PageFaultCount);
  return memory.PeakWorkingSetSize != 0;
}

// The processor time of all threads that have been seen in a process, of each as it was last seen.
class ThreadTimes {
 public:
  void look(HANDLE process) {
    HANDLE thread = nullptr;
    while (next_ != nullptr) {
      HANDLE next = nullptr;
      const LONG status = next_(process, thread, THREAD_QUERY_INFORMATION, 0, 0, &next);
      if (thread != nullptr) CloseHandle(thread);
      if (status < 0) return;
      thread = next;
      FILETIME created{}, ended{}, kernel{}, user{};
      if (!GetThreadTimes(thread, &created, &ended, &kernel, &user)) continue;
      Times& times = times_[GetThreadId(thread)];
      times.user = std::max(times.user, seconds(user));
      times.system = std::max(times.system, seconds(kernel));
    }
  }

  void add_to(RunResult& result) const {
    for (const auto& [thread, times] : times_) {
      result.user += times.user;
      result.system += times.system;
    }
  }

 private:
  struct Times {
    double user = 0, system = 0;
  };
  using Next = LONG NTAPI(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
                          ULONG flags, HANDLE* next);

  Next* next_ = ntdll_function<Next>("NtGetNextThread");
  std::map<DWORD, Times> times_;
};

HANDLE handle_of(int file) {
  return file < 0 ? nullptr : reinterpret_cast<HANDLE>(_get_osfhandle(file));
}

}  // namespace

RunResult measure(const RunRequest& request) {
  RunResult result;
  StartRequest start;
  start.command = request.command;
  start.path = request.path;
  start.library = request.library;
  start.output = handle_of(request.output);
  start.errors = handle_of(request.errors);
  StartedProcess process;
  result.error = process.create(start);
  if (!result.error.empty()) return result;
  const LeaveInterruptsToCommand interrupts;
  const bool in_wine = ntdll_function<const char*()>("wine_get_version") != nullptr;
  ThreadTimes thread_times;
  const double busy_before = machine_busy();
  const double begin = now();
  process.resume();
  constexpr DWORD kOftenMs = 2, kSeldomMs = 10;
  constexpr double kOftenSeconds = 0.2;
  for (;;) {
    const DWORD pause = now() - begin < kOftenSeconds ? kOftenMs : kSeldomMs;
    if (WaitForSingleObject(process.process(), pause) != WAIT_TIMEOUT) break;
    note_memory(process.process(), result);
    if (in_wine) thread_times.look(process.process());
  }
  result.wall = now() - begin;
  const double busy = machine_busy() - busy_before;
  result.started = true;
  result.peak_exact = note_memory(process.process(), result);
  DWORD code = 0;
  GetExitCodeProcess(process.process(), &code);
  result.exit_code = static_cast<int>(code);
  FILETIME created{}, ended{}, kernel{}, user{};
  if (in_wine) {
    thread_times.add_to(result);
  } else if (GetProcessTimes(process.process(), &created, &ended, &kernel, &user)) {
    result.user = seconds(user);
    result.system = seconds(kernel);
  }
  result.other_cpu = std::max(0.0, busy - result.cpu());
  return result;
}

}  // namespace corbel::cli
