// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

inline int failures = 0;

// Notes what does not hold.
inline bool check(bool holds, const char* what) {
  if (holds) return true;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
  return false;
}

// The bytes that this process has committed for itself, as the system lists them. Unlike the
// counters of a process, Wine has them right.
inline std::size_t committed() {
  std::size_t bytes = 0;
  MEMORY_BASIC_INFORMATION info;
  for (const char* at = nullptr; VirtualQuery(at, &info, sizeof info) != 0;
       at = static_cast<const char*>(info.BaseAddress) + info.RegionSize) {
    if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE) bytes += info.RegionSize;
  }
  return bytes;
}

inline int result() {
  std::printf(failures == 0 ? "right\n" : "wrong\n");
  return failures == 0 ? 0 : 1;
}
