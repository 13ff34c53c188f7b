// SPDX-License-Identifier: Apache-2.0
// What the test programs check, and whether all of it was right.
#pragma once

#include <atomic>
#include <cstdio>

inline std::atomic<int> failures{0};

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

// The exit code.
inline int report() {
  std::puts(failures == 0 ? "right" : "wrong");
  std::fflush(stdout);
  return failures == 0 ? 0 : 1;
}
