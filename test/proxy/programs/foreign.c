// SPDX-License-Identifier: Apache-2.0
// Passes pointers that Corbel did not hand out to free, realloc or malloc_usable_size: foreign WHAT
// HOW. WHAT is one of the kinds below, HOW is free, realloc, size or delete.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char zeroed[4096] __attribute__((aligned(16)));
static char initialised[4096] __attribute__((aligned(16))) = {1};
static const char constant[64] __attribute__((aligned(16))) = {1};

static void* with_libc(const char* name) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  return dlsym(libc, name);  // the C library's own, not the replacement
}

static void* libc_malloc(size_t size) { return ((void* (*)(size_t))with_libc("malloc"))(size); }

static void* libc_memalign(size_t alignment, size_t size) {
  return ((void* (*)(size_t, size_t))with_libc("memalign"))(alignment, size);
}

static void* other_arena(void* size) { return libc_malloc((size_t)(uintptr_t)size); }

static void* from_thread(size_t size) {
  pthread_t thread;
  void* block = NULL;
  if (libc_malloc(1) == NULL) exit(6);  // the first thread to allocate takes the first arena
  pthread_create(&thread, NULL, other_arena, (void*)(uintptr_t)size);
  pthread_join(thread, &block);
  return block;
}

static void* second_libc(size_t size) {
  void* libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  if (libc == NULL) exit(77);
  return ((void* (*)(size_t))dlsym(libc, "malloc"))(size);
}

static int writable = 0;

static void use(const char* how, void* p) {
  printf("%p\n", p);
  fflush(stdout);
  errno = 55;
  if (strcmp(how, "free") == 0) {
    free(p);
    if (errno != 55) exit(3);
  } else if (strcmp(how, "delete") == 0) {
    ((void (*)(void*, size_t))dlsym(RTLD_DEFAULT, "_ZdlPvm"))(p, 100);
  } else if (strcmp(how, "size") == 0) {
    printf("size %zu\n", malloc_usable_size(p));
  } else {
    if (writable) memset(p, 0x3C, 100);
    unsigned char* q = realloc(p, 50000);
    if (q == NULL || q == p) exit(4);
    for (int i = 0; i < 100; ++i) {
      if (q[i] != 0x3C) exit(5);
    }
    free(q);
  }
}

static const char* how_in_thread;
static void* in_thread(void* unused) {
  (void)unused;
  char here[256] __attribute__((aligned(16))) = {0};
  use(how_in_thread, here + 16);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* what = argv[1];
  const char* how = argv[2];
  char here[4096] __attribute__((aligned(16))) = {0};
  void* p = NULL;
  writable = strncmp(what, "libc-", 5) == 0;
  if (strcmp(what, "libc-small") == 0) p = libc_malloc(100);
  if (strcmp(what, "libc-medium") == 0) p = libc_malloc(20000);
  if (strcmp(what, "libc-large") == 0) p = libc_malloc(3000000);
  if (strcmp(what, "libc-aligned") == 0) p = libc_memalign(4096, 300);
  if (strcmp(what, "libc-large-aligned") == 0) p = libc_memalign(1 << 16, 3000000);
  if (strcmp(what, "libc-thread") == 0) p = from_thread(100);
  if (strcmp(what, "libc-thread-medium") == 0) p = from_thread(20000);
  if (strcmp(what, "second-libc") == 0) p = second_libc(100);
  if (strcmp(what, "interior") == 0) p = (char*)libc_malloc(1000) + 160;
  if (strcmp(what, "misaligned") == 0) p = (char*)libc_malloc(1000) + 4;
  if (strcmp(what, "stack") == 0) p = here + 16;
  if (strcmp(what, "zeroed") == 0) p = zeroed + 160;
  if (strcmp(what, "initialised") == 0) p = initialised + 160;
  if (strcmp(what, "constant") == 0) p = (void*)(uintptr_t)(constant + 16);
  if (strcmp(what, "code") == 0) p = (void*)((uintptr_t)&main & ~(uintptr_t)15);
  if (strcmp(what, "library") == 0) p = (void*)((uintptr_t)stdout & ~(uintptr_t)15);
  if (strcmp(what, "unmapped") == 0) p = (void*)(uintptr_t)0x10000;
  if (strcmp(what, "wild") == 0) p = (void*)(uintptr_t)0xdeadbeefdeadbee0;
  if (strcmp(what, "anonymous") == 0 || strcmp(what, "anonymous-start") == 0) {
    p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(what, "anonymous") == 0) p = (char*)p + 4096;
  }
  if (strcmp(what, "read-only") == 0) {
    p = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p = (char*)p + 4096;
  }
  if (strcmp(what, "no-access") == 0) {
    p = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p = (char*)p + 4096;
  }
  if (strcmp(what, "shared") == 0) {
    p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p = (char*)p + 4096;
  }
  if (strcmp(what, "thread-stack") == 0) {
    pthread_t thread;
    how_in_thread = how;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
  }
  if (p == NULL) return 2;
  use(how, p);
  // The owner's heap must still be intact: it aborts otherwise.
  void* (*other_malloc)(size_t) = (void* (*)(size_t))with_libc("malloc");
  void (*other_free)(void*) = (void (*)(void*))with_libc("free");
  void* blocks[200];
  for (int i = 0; i < 200; ++i) blocks[i] = other_malloc((size_t)i * 150 + 1);
  for (int i = 0; i < 200; ++i) other_free(blocks[i]);
  return 0;
}
