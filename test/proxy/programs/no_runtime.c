// SPDX-License-Identifier: Apache-2.0
// A C program that calls operator new itself, in a process without a C++ run-time library.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* (*operator_new)(size_t) = (void* (*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
  void (*operator_delete)(void*) = (void (*)(void*))dlsym(RTLD_DEFAULT, "_ZdlPv");
  if (operator_new == NULL || operator_delete == NULL) return 2;
  operator_delete(operator_new(100));
  puts("before");
  fflush(stdout);
  operator_new((size_t)PTRDIFF_MAX - 1000);
  puts("after");
  return 3;
}
