// SPDX-License-Identifier: Apache-2.0
// A library that calls a function of the program at the end of the process. See at_end.hpp.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace {
void (*function)() = nullptr;
}

extern "C" __declspec(dllexport) void at_end(void (*f)()) { function = f; }

BOOL WINAPI DllMain(HINSTANCE, DWORD event, void*) {
  if (event == DLL_PROCESS_DETACH && function != nullptr) function();
  return TRUE;
}
