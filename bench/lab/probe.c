/* SPDX-License-Identifier: Apache-2.0
 * Prints which library provides each allocation function of this program, one per line, and uses
 * them. Without this check, a preload that the loader skips, or that replaces only some functions,
 * would give figures of the C library under another name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  static const char* const kFunctions[] = {"malloc",  "free",           "calloc",
                                           "realloc", "posix_memalign", "aligned_alloc"};
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    Dl_info where;
    void* function = dlsym(RTLD_DEFAULT, kFunctions[i]);
    if (!function || !dladdr(function, &where)) return 1;
    printf("%s %s\n", kFunctions[i], where.dli_fname);
  }
  for (size_t size = 1; size < (8u << 20); size *= 3) {
    char* block = malloc(size);
    void* aligned = NULL;
    if (!block || posix_memalign(&aligned, 256, size) != 0) return 2;
    memset(block, 1, size);
    memset(aligned, 2, size);
    block = realloc(block, 2 * size);
    if (!block || block[size - 1] != 1 || malloc_usable_size(block) < 2 * size) return 3;
    free(block);
    free(aligned);
  }
  return 0;
}
