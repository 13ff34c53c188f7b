// SPDX-License-Identifier: Apache-2.0
// A C program that loads a C++ library at run time, so that the C++ run-time library is not visible
// to the replacement. argv[1] is that library.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*run)(void) = (int (*)(void))dlsym(library, "run");
  return run();
}
