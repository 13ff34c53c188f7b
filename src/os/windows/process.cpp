// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"
// After windows.h.
#include <psapi.h>

namespace corbel::os {

// A copy that stays: the system's own text may move at any time. Corbel asks for each of its
// variables once or twice.
const char* environment(const char* name) {
  LastErrorGuard guard;
  for (;;) {
    const DWORD room = GetEnvironmentVariableA(name, nullptr, 0);
    if (room == 0) return nullptr;
    auto* const value = static_cast<char*>(HeapAlloc(GetProcessHeap(), 0, room));
    if (value == nullptr) return nullptr;
    value[0] = '\0';  // an empty variable may be deleted in between
    if (GetEnvironmentVariableA(name, value, room) == room - 1) return value;
    // Another thread has changed it in between.
    HeapFree(GetProcessHeap(), 0, value);
  }
}

const void* exit_function() { return nullptr; }

void write_error(const char* text, std::size_t size) {
  LastErrorGuard guard;
  const HANDLE file = GetStdHandle(STD_ERROR_HANDLE);
  while (size > 0) {
    DWORD written = 0;
    if (!WriteFile(file, text, DWORD(size), &written, nullptr) || written == 0) return;
    text += written;
    size -= written;
  }
}

void abort() {
  // The exit code of a program that ends by abort().
  TerminateProcess(GetCurrentProcess(), 3);
  for (;;) Sleep(INFINITE);
}

std::uint32_t process_id() { return GetCurrentProcessId(); }

void read_thread_name(char* name, std::size_t) { name[0] = '\0'; }

void read_command(char* command, std::size_t capacity) {
  LastErrorGuard guard;
  TextInto(command, capacity).add(GetCommandLineA()).finish();
}

void read_current_folder(char* path, std::size_t capacity) {
  LastErrorGuard guard;
  const DWORD length = GetCurrentDirectoryA(DWORD(capacity), path);
  if (length == 0 || length >= capacity) path[0] = '\0';
}

ProcessPeaks read_process_peaks() {
  LastErrorGuard guard;
  PROCESS_MEMORY_COUNTERS counters{};
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return {};
  return {counters.PeakWorkingSetSize, counters.PeakPagefileUsage, counters.PageFaultCount};
}

}  // namespace corbel::os
