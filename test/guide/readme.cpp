// SPDX-License-Identifier: Apache-2.0
// The examples of README.md.
// [scheduler]
#include <vector>

#include <corbel/parallel_for.hpp>
#include <corbel/parallel_invoke.hpp>

void square(std::vector<double>& v) {
  corbel::parallel_for(std::size_t(0), v.size(), [&](std::size_t i) { v[i] *= v[i]; });
}

long fibonacci(int n) {  // no cut-off: a fork that no thread steals costs 9 to 16 ns
  if (n < 2) return n;
  long a = 0, b = 0;
  corbel::parallel_invoke([&] { a = fibonacci(n - 1); }, [&] { b = fibonacci(n - 2); });
  return a + b;
}
// [end]

// [allocator]
#include <cstdio>
#include <vector>

#include <corbel/malloc.h>
#include <corbel/scalable_allocator.hpp>

void report() {
  corbel_set_heap_limit(400 << 20);  // bytes; above it, free memory goes back to the system first
  std::vector<int, corbel::scalable_allocator<int>> numbers(1000000);
  struct corbel_heap_stats stats;
  corbel_heap_stats(&stats, sizeof stats);
  std::printf("%zu bytes in use, %zu committed\n", stats.live, stats.footprint);
}
// [end]

int main() {
  std::vector<double> v(1000, 3.0);
  square(v);
  report();
  return v[999] == 9.0 && fibonacci(20) == 6765 ? 0 : 1;
}
