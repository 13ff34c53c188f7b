// SPDX-License-Identifier: Apache-2.0
// Code of a program that runs at the end of the process, after the system has ended all threads but
// the calling one; or at the end of each thread, after the libraries that are loaded later have
// been told.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

inline bool call_at(const char* event, void (*function)()) {
  const HMODULE library = LoadLibraryA("windows_at_end.dll");
  if (library == nullptr) return false;
  const auto at = reinterpret_cast<void (*)(void (*)())>(
      reinterpret_cast<void*>(GetProcAddress(library, event)));
  at(function);
  return true;
}

// Both return false if the library is missing. The exit code is what main returns, unless the
// function ends the process itself.
inline bool call_at_end(void (*function)()) { return call_at("at_end", function); }
inline bool call_at_thread_end(void (*function)()) { return call_at("at_thread_end", function); }
