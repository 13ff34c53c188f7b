// SPDX-License-Identifier: Apache-2.0
// Loads and unloads a library that uses the scheduler; this program itself does not link it. The
// workers, and the scheduler's hooks in the program's threads, outlive that library.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdio>

namespace {

DWORD WINAPI use_plugin(void* path) {
  const HMODULE plugin = LoadLibraryA(static_cast<const char*>(path));
  if (plugin == nullptr) {
    std::fprintf(stderr, "LoadLibrary: %lu\n", GetLastError());
    return 1;
  }
  const auto compute = reinterpret_cast<int (*)()>(
      reinterpret_cast<void*>(GetProcAddress(plugin, "plugin_compute")));
  const int calls = compute != nullptr ? compute() : -1;
  // A worker may still be on its way out of a task of the plugin, which ends in the plugin's code.
  for (int i = 0; i < 1000; ++i) SwitchToThread();
  Sleep(20);
  FreeLibrary(plugin);
  if (calls != 5) std::fprintf(stderr, "calls: %d\n", calls);
  return calls == 5 ? 0 : 2;
}

}  // namespace

int main(int, char** arguments) {
  for (int i = 0; i < 10; ++i) {
    if (const DWORD error = use_plugin(arguments[1])) return int(error);
    const HANDLE thread = CreateThread(nullptr, 0, use_plugin, arguments[1], 0, nullptr);
    WaitForSingleObject(thread, INFINITE);
    DWORD code = 9;
    GetExitCodeThread(thread, &code);
    CloseHandle(thread);
    if (code != 0) return int(code);
  }
  return 0;
}
