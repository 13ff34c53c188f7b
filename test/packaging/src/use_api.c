// SPDX-License-Identifier: Apache-2.0
// A C program that calls the allocator by name. Exit code 0 if Corbel served it.
#include <stdio.h>
#include <string.h>
#ifdef USE_TBB_HEADER
#include <tbb/scalable_allocator.h>
#else
#include <corbel/malloc.h>
#endif

int main(void) {
  char* block = scalable_malloc(100);
  if (block == NULL || scalable_msize(block) < 100) return 1;
  memset(block, 1, 100);
  scalable_free(block);
  puts("api: ok");
  return 0;
}
