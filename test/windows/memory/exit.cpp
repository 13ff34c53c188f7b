// SPDX-License-Identifier: Apache-2.0
// The end of a process whose other threads are in malloc and free, which the system ends wherever
// they are, again and again. Also the end of one by an exception, and one with a limit of its job.
#include <corbel/malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "checks.hpp"

namespace {

constexpr int kThreads = 4;
constexpr UINT kExitCode = 7;

std::atomic<int> busy{0};
std::atomic<void*> exchanged[64];

// Blocks of all sizes, many of them freed by another thread, so that each lock is taken often.
DWORD WINAPI work(void* number) {
  std::uint64_t random = reinterpret_cast<std::uintptr_t>(number) * 2 + 1;
  for (int i = 0;; ++i) {
    if (i == 1000) ++busy;
    random = random * 6364136223846793005 + 1442695040888963407;
    const std::size_t size = random % 16 == 0 ? 140000 + (random >> 40) % 400000 : (random >> 50);
    scalable_free(exchanged[(random >> 33) % 64].exchange(scalable_malloc(size)));
    if (i % 64 == 0) scalable_allocation_command(TBBMALLOC_CLEAN_THREAD_BUFFERS, nullptr);
  }
}

void use_memory() {
  void* blocks[200];
  for (std::size_t i = 0; i < 200; ++i) blocks[i] = scalable_malloc(i * 100);
  for (void* const b : blocks) scalable_free(b);
}

[[noreturn]] void end_in_the_middle() {
  if (LoadLibraryA("windows_memory_plugin.dll") == nullptr) ExitProcess(104);
  std::atexit(use_memory);
  for (std::uintptr_t i = 0; i < kThreads; ++i) {
    CloseHandle(CreateThread(nullptr, 0, work, reinterpret_cast<void*>(i), 0, nullptr));
  }
  while (busy < kThreads) SwitchToThread();
  use_memory();
  std::exit(kExitCode);
}

// Starts this program with an argument, and ends it if it hangs. Returns its exit code.
DWORD run(const char* argument) {
  char path[MAX_PATH];
  GetModuleFileNameA(nullptr, path, sizeof path);
  std::string command = std::string("\"") + path + "\" " + argument;
  STARTUPINFOA start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION process{};
  if (!CreateProcessA(path, command.data(), nullptr, nullptr, FALSE, 0, nullptr, nullptr, &start,
                      &process)) {
    return 105;
  }
  // Only to tell a hang: the end takes milliseconds.
  if (WaitForSingleObject(process.hProcess, 60000) != WAIT_OBJECT_0) {
    TerminateProcess(process.hProcess, 106);
    WaitForSingleObject(process.hProcess, INFINITE);
  }
  DWORD code = 0;
  GetExitCodeProcess(process.hProcess, &code);
  CloseHandle(process.hThread);
  CloseHandle(process.hProcess);
  return code;
}

// The job of this process gets a limit. Exit code 77 where the system does not keep it.
int obey_job() {
  const HANDLE job = CreateJobObjectA(nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY;
  limits.ProcessMemoryLimit = std::size_t(128) << 20;
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  AssignProcessToJobObject(job, GetCurrentProcess());
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION kept{};
  if (!QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &kept, sizeof kept,
                                 nullptr) ||
      kept.BasicLimitInformation.LimitFlags != JOB_OBJECT_LIMIT_PROCESS_MEMORY) {
    return 77;
  }
  constexpr std::size_t kSize = 100000;
  static void* blocks[2000];
  std::size_t count = 0;
  errno = 0;
  while (count < 2000 && (blocks[count] = scalable_malloc(kSize)) != nullptr) {
    std::memset(blocks[count++], 1, kSize);
  }
  check(count < 2000 && errno == ENOMEM, "the refusal at the limit of the job");
  check(count * kSize > (std::size_t(64) << 20), "half of the limit of the job is used");
  for (std::size_t i = 0; i < count; ++i) scalable_free(blocks[i]);
  void* const again = scalable_malloc(std::size_t(32) << 20);
  check(again != nullptr, "memory that was freed is there for others");
  scalable_free(again);
  return failures;
}

int throw_it(void*, std::size_t) { throw 1; }

// An exception that leaves the callback of a limit ends the process, even if there is a handler.
[[noreturn]] void throw_in_callback() {
  corbel_on_limit(throw_it, nullptr);
  corbel_set_heap_hard_limit(std::size_t(1) << 20);
  // So that the compiler does not know that it throws nothing.
  void* (*const volatile allocate)(std::size_t) = scalable_malloc;
  try {
    static_cast<void>(allocate(std::size_t(4) << 20));
  } catch (int) {
    ExitProcess(107);
  }
  ExitProcess(108);
}

int crash(void*, std::size_t) {
  RaiseException(EXCEPTION_ACCESS_VIOLATION, 0, 0, nullptr);
  return 0;
}

constexpr DWORD kHandled = 109;

LONG WINAPI end_handled(EXCEPTION_POINTERS*) {
  TerminateProcess(GetCurrentProcess(), kHandled);
  return EXCEPTION_CONTINUE_SEARCH;
}

// A crash in the callback of a limit gets to the program's last handler.
[[noreturn]] void crash_in_callback() {
  SetUnhandledExceptionFilter(end_handled);
  corbel_on_limit(crash, nullptr);
  corbel_set_heap_hard_limit(std::size_t(1) << 20);
  void* (*const volatile allocate)(std::size_t) = scalable_malloc;
  static_cast<void>(allocate(std::size_t(4) << 20));
  ExitProcess(108);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "end") end_in_the_middle();
  if (what == "job") return obey_job();
  if (what == "throw") throw_in_callback();
  if (what == "crash") crash_in_callback();
  for (int i = 0; i < 50 && failures == 0; ++i) {
    const DWORD code = run("end");
    if (code != kExitCode)
      std::fprintf(stderr, "exit code %lu\n", static_cast<unsigned long>(code));
    check(code == kExitCode, "the end of a process with threads in malloc");
  }
  constexpr DWORD kAborted = 3;
  check(run("throw") == kAborted, "an exception out of a callback ends the process");
  check(run("crash") == kHandled, "a crash in a callback is handled by the program");
  const DWORD code = run("job");
  if (code == 77) {
    std::printf("skipped: the system keeps no limits of jobs, as Wine\n");
  } else {
    check(code == 0, "the limit of a job");
  }
  return result();
}
