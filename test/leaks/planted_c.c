// SPDX-License-Identifier: Apache-2.0
// Leaks of a program in C with one thread, and blocks that only look like leaks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "planted.h"

#define NOINLINE __attribute__((noinline))

void* volatile by_global;
void* volatile by_interior;
void* volatile by_end;
volatile uintptr_t by_tag;
void* volatile overwritten;
void* volatile array;
void* volatile by_mapping;
void* volatile by_shared;
__thread void* volatile by_tls;

static NOINLINE void lose_direct(void) { block_of(1001); }

static NOINLINE void lose_chain(void) {
  char* first = block_of(1011);
  char* second = block_of(1012);
  store(second + 8, block_of(1013));
  store(first + 1000, second);
}

static NOINLINE void lose_cycle(void) {
  char* first = block_of(1021);
  char* second = block_of(1022);
  store(first, second);
  store(second, first);
}

static NOINLINE void keep(void) {
  by_interior = block_of(1031) + 104;
  by_global = block_of(1041);
  by_tls = block_of(1051);
  by_tag = (uintptr_t)block_of(1161) | 5;
  by_end = block_of(1181) + 1181;
}

static NOINLINE void overwrite(void) {
  overwritten = block_of(1061);
  overwritten = block_of(1062);
}

static NOINLINE void resize(void) {
  array = malloc(64);
  store(array, block_of(1072));
  array = realloc(array, 100000);
  void* lost = realloc(block_of(100), 1071);
  __asm__ volatile("" : : "r"(lost) : "memory");
}

static NOINLINE void map_memory(void) {
  char* memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  store(memory + 555008, block_of(1151));
  // Memory that has become read-only keeps what it points to.
  store(memory + 600000, block_of(1153));
  mprotect(memory + (592 << 10) / 4096 * 4096, 65536, PROT_READ);
  by_mapping = memory + 8;
  char* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  store(shared + 64, block_of(1152));
  by_shared = shared + 8;
}

static ucontext_t of_main, of_fiber;

static NOINLINE void run_fiber(void) {
  void* volatile held = block_of(1141);
  swapcontext(&of_fiber, &of_main);
  free(held);
}

static NOINLINE void start_fiber(void) {
  const size_t size = 256 << 10;
  getcontext(&of_fiber);
  of_fiber.uc_stack.ss_sp =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  of_fiber.uc_stack.ss_size = size;
  of_fiber.uc_link = &of_main;
  makecontext(&of_fiber, run_fiber, 0);
  swapcontext(&of_main, &of_fiber);
}

// The library keeps a block in its data; after dlclose, its data is no more.
static NOINLINE void load(const char* library, size_t size, int close) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  void (*keep_block)(size_t) = (void (*)(size_t))dlsym(handle, "keep_block");
  keep_block(size);
  if (close) dlclose(handle);
}

int main(int count, char** arguments) {
  // First: the contexts of fibers keep registers, old values among them.
  start_fiber();
  lose_direct();
  lose_chain();
  lose_cycle();
  keep();
  overwrite();
  resize();
  map_memory();
  if (count > 2) {
    load(arguments[1], 1121, 0);
    load(arguments[2], 1131, 1);
  }
  forget_calls();
  return 0;
}
