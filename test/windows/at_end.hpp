// SPDX-License-Identifier: Apache-2.0
// Code of a program that runs at the end of the process, after the system has ended all threads but
// the calling one.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

// Returns false if the library is missing. The exit code is what main returns, unless the function
// ends the process itself.
inline bool call_at_end(void (*function)()) {
  const HMODULE library = LoadLibraryA("windows_at_end.dll");
  if (library == nullptr) return false;
  const auto at_end = reinterpret_cast<void (*)(void (*)())>(
      reinterpret_cast<void*>(GetProcAddress(library, "at_end")));
  at_end(function);
  return true;
}
