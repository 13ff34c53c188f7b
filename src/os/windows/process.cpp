// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"
// After windows.h.
#include <psapi.h>

namespace corbel::os {
namespace {

// Room for a text of the system.
struct Wide {
  explicit Wide(DWORD room)
      : text(static_cast<wchar_t*>(HeapAlloc(GetProcessHeap(), 0, room * sizeof(wchar_t)))) {}
  ~Wide() {
    if (text != nullptr) HeapFree(GetProcessHeap(), 0, text);
  }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;

  wchar_t* const text;
};

// In UTF-8; nullptr if there is no memory.
const char* copy(const wchar_t* text) {
  const int room = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  auto* const result = static_cast<char*>(HeapAlloc(GetProcessHeap(), 0, std::size_t(room)));
  if (result != nullptr) {
    WideCharToMultiByte(CP_UTF8, 0, text, -1, result, room, nullptr, nullptr);
  }
  return result;
}

}  // namespace

// A copy that stays, in UTF-8: the system's own text may move at any time. Corbel asks for each of
// its variables once or twice.
const char* environment(const char* name) {
  LastErrorGuard guard;
  constexpr int kMaxName = 64;  // more than those of Corbel's variables have
  wchar_t wide_name[kMaxName];
  if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, kMaxName) == 0) return nullptr;
  for (;;) {
    const DWORD room = GetEnvironmentVariableW(wide_name, nullptr, 0);
    if (room == 0) return nullptr;
    Wide value(room);
    if (value.text == nullptr) return nullptr;
    value.text[0] = L'\0';  // an empty variable may be deleted in between
    if (GetEnvironmentVariableW(wide_name, value.text, room) == room - 1) return copy(value.text);
    // Another thread has changed it in between.
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
  const wchar_t* const line = GetCommandLineW();
  command[to_utf8(line, std::size_t(lstrlenW(line)), command, capacity - 1)] = '\0';
}

void read_current_folder(char* path, std::size_t capacity) {
  LastErrorGuard guard;
  constexpr DWORD kRoom = 4096;
  wchar_t wide[kRoom];
  const DWORD length = GetCurrentDirectoryW(kRoom, wide);
  const bool fits =
      length > 0 && length < kRoom &&
      WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, int(capacity), nullptr, nullptr) != 0;
  if (!fits) path[0] = '\0';
}

// A path that begins with a drive or a slash is left to the system.
bool is_absolute(const char* path) {
  return path[0] == '/' || path[0] == '\\' || (path[0] != '\0' && path[1] == ':');
}

ProcessPeaks read_process_peaks() {
  LastErrorGuard guard;
  PROCESS_MEMORY_COUNTERS counters{};
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return {};
  return {counters.PeakWorkingSetSize, counters.PeakPagefileUsage, counters.PageFaultCount};
}

}  // namespace corbel::os
