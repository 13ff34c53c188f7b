/* SPDX-License-Identifier: Apache-2.0 */
/* Fork handlers that use malloc and were registered before the first call of malloc, and so before
 * the allocator's own handlers: they run last in the parent's prepare phase, and first in the other
 * two phases. Other threads allocate meanwhile. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int calls = 0;

static void use_malloc(void) {
  static const size_t sizes[] = {1, 100, 1000, 5000, 40000, 300000, 2000000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    /* Enough blocks of each size to exhaust any free list. */
    void* blocks[40];
    for (int k = 0; k < 40; ++k) {
      blocks[k] = malloc(sizes[i]);
      if (blocks[k] == NULL) _exit(2);
      memset(blocks[k], 1, sizes[i] < 100 ? sizes[i] : 100);
    }
    for (int k = 0; k < 40; ++k) free(blocks[k]);
  }
}

static void handler(void) {
  use_malloc();
  ++calls;
}

/* Runs before constructors, and so before most libraries can call malloc. */
static void register_handlers(void) { pthread_atfork(handler, handler, handler); }
__attribute__((section(".preinit_array"), used)) static void (*entry)(void) = register_handlers;

static void* allocate_without_end(void* unused) {
  for (;;) use_malloc();
  return unused;
}

int main(void) {
  alarm(60);
  use_malloc();
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_without_end, NULL) != 0) return 2;
  }
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      use_malloc();
      _exit(calls == 2 * (i + 1) ? 5 : 6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) {
      fprintf(stderr, "FAILED: child %d ended with status 0x%x\n", i, (unsigned)status);
      return 1;
    }
  }
  puts("life: passed handlers before malloc");
  return 0;
}
