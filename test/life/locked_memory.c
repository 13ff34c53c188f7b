// SPDX-License-Identifier: Apache-2.0
// A program that locks its memory, what it has and what it will get, and may lock little: before
// its first request, or after it ("late"). In C: the C++ library would allocate before main.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const size_t kLimit = (size_t)8 << 20;
static const size_t kEnough = (size_t)9 << 19;

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

static size_t mapped(void) {
  char line[64] = "";
  const int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0 || read(file, line, sizeof line - 1) <= 0) return 0;
  close(file);
  return strtoul(line, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int count, char** arguments) {
  const int late = count > 1 && strcmp(arguments[1], "late") == 0;
  const struct rlimit limit = {kLimit, kLimit};
  // The limit is not for root.
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)) {
    puts("skipped: the limit cannot be set");
    return 77;
  }
  if (mapped() > kLimit) {
    puts("skipped: the program alone is larger than the limit");
    return 77;
  }
  void* volatile early = late ? malloc(1000) : NULL;
  const size_t size = mapped();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    printf("cannot lock %zu KiB\n", size >> 10);
    return 1;
  }
  free(early);
  const size_t bytes = served(1000);
  printf("locked %zu KiB, served %zu KiB\n", size >> 10, bytes >> 10);
  if (bytes < kEnough || bytes > kLimit) return 1;
  puts("passed");
  return 0;
}
