// SPDX-License-Identifier: Apache-2.0
// A program that locks its memory, what it has and what it will get, and may lock little. In C: the
// C++ library would allocate before main.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const size_t kLimit = (size_t)8 << 20;
static const size_t kEnough = (size_t)3 << 20;

static size_t served(size_t size) {
  size_t bytes = 0;
  for (;;) {
    char* block = malloc(size);
    if (block == NULL) return bytes;
    memset(block, 1, size);
    bytes += size;
    if (bytes > kLimit) return bytes;
  }
}

int main(void) {
  const struct rlimit limit = {kLimit, kLimit};
  // The limit is not for root.
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)) {
    puts("skipped: the limit cannot be set");
    return 77;
  }
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    puts("skipped: the program alone is larger than the limit");
    return 77;
  }
  const size_t bytes = served(1000);
  printf("served %zu KiB\n", bytes >> 10);
  if (bytes < kEnough || bytes > kLimit) return 1;
  puts("passed");
  return 0;
}
