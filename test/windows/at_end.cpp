// SPDX-License-Identifier: Apache-2.0
// A library that calls functions of the program at the end of the process and of each thread. See
// at_end.hpp.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace {
void (*of_process)() = nullptr;
void (*of_thread)() = nullptr;
}  // namespace

extern "C" __declspec(dllexport) void at_end(void (*f)()) { of_process = f; }
extern "C" __declspec(dllexport) void at_thread_end(void (*f)()) { of_thread = f; }

BOOL WINAPI DllMain(HINSTANCE, DWORD event, void*) {
  if (event == DLL_PROCESS_DETACH && of_process != nullptr) of_process();
  if (event == DLL_THREAD_DETACH && of_thread != nullptr) of_thread();
  return TRUE;
}
