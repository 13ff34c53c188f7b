// SPDX-License-Identifier: Apache-2.0
// Three allocation patterns under a soft limit, timed. Programs in old articles on the allocator
// include only these headers, and rely on them for memset and others.
#include <stdio.h>
#include <tbb/scalable_allocator.h>
#include <tbb/tick_count.h>
#include <cstdlib>
#include <iostream>

static bool pattern(size_t from, size_t to, size_t step, int objects) {
  void* blocks[1000];
  for (size_t size = from; size <= to; size += step) {
    for (int i = 0; i < objects; ++i) {
      blocks[i] = scalable_malloc(size);
      if (blocks[i] == NULL) return false;
      memset(blocks[i], 0, size);
    }
    for (int i = 0; i < objects; ++i) scalable_free(blocks[i]);
  }
  return true;
}

int main() {
  if (scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT, 10 << 20) != TBBMALLOC_OK) return 1;
  tbb::tick_count start = tbb::tick_count::now();
  if (!pattern(8, 50000, 977, 200)) return 2;
  if (!pattern(100, 100, 1, 1000)) return 3;
  if (!pattern(8192, 2 << 20, 65536, 10)) return 4;
  tbb::tick_count end = tbb::tick_count::now();
  std::cout << (end - start).seconds() << " seconds" << std::endl;
  return (end - start).seconds() >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
