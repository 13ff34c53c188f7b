// SPDX-License-Identifier: Apache-2.0
// What the tests of the library's life have threads do.
#pragma once

#include <tbb/parallel_invoke.h>

#include <atomic>
#include <thread>

inline void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

inline int fibonacci(int n) {
  if (n < 2) return n;
  int a = 0, b = 0;
  tbb::parallel_invoke([&] { a = fibonacci(n - 1); }, [&] { b = fibonacci(n - 2); });
  return a + b;
}
