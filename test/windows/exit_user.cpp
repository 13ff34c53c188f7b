// SPDX-License-Identifier: Apache-2.0
// Ends while a library has static destructors that use the scheduler; this program itself does not
// link it. The library's destructor sets the exit code 0 once it is through.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const HMODULE plugin = LoadLibraryA(arguments[1]);
  if (plugin == nullptr) {
    std::fprintf(stderr, "LoadLibrary: %lu\n", GetLastError());
    return 3;
  }
  const auto prepare = reinterpret_cast<void (*)(const char*)>(
      reinterpret_cast<void*>(GetProcAddress(plugin, "plugin_prepare")));
  if (prepare == nullptr) return 4;
  prepare(arguments[2]);
  return 1;
}
