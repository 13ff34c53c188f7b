// SPDX-License-Identifier: Apache-2.0
// Asks the replacement whether it is active. argv[1], if present, is a library to load first, as in
// a program that loads the replacement too late.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>

#if defined(OWN_OPERATORS)
#include <stdlib.h>
void* operator new(size_t size) { return malloc(size); }
void operator delete(void* block) noexcept { free(block); }
#endif

int main(int argc, char** argv) {
  void* library = RTLD_DEFAULT;
  if (argc > 1 && (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*ask)(char***) = (int (*)(char***))dlsym(library, "TBB_malloc_replacement_log");
  if (ask == NULL) return 3;
  if (ask(NULL) != ask(NULL)) return 4;
  char** log = NULL;
  printf("%d\n", ask(&log));
  for (; *log != NULL; ++log) puts(*log);
  return 0;
}
