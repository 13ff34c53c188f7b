// SPDX-License-Identifier: Apache-2.0
// A DLL whose start outlasts every test if ENDLESS_START names a file, which it writes the
// process's number to.
#include <windows.h>

#include <cstdio>
#include <cstdlib>

extern "C" {
__declspec(dllexport) int endless() { return 0; }

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void*) {
  const char* const path = std::getenv("ENDLESS_START");
  if (reason != DLL_PROCESS_ATTACH || path == nullptr) return TRUE;
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return FALSE;
  std::fprintf(file, "%lu.", GetCurrentProcessId());
  std::fclose(file);
  Sleep(60000);
  TerminateProcess(GetCurrentProcess(), 1);
  return FALSE;
}
}
