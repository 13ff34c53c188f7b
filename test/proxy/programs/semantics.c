// SPDX-License-Identifier: Apache-2.0
// Checks what C23, POSIX and glibc's manual pages promise of the malloc family. "semantics" checks
// the replacement. "semantics peer" leaves out what glibc 2.36 does not do, so that the rest is
// checked against the original, too. With -DLINKED the names that glibc does not have are linked,
// otherwise they are looked up.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;
static int peer = 0;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (0)

// Sizes hidden from the compiler, which would refuse to compile half of this.
static volatile size_t too_much = (size_t)PTRDIFF_MAX + 1;
static volatile size_t most = SIZE_MAX;

static int is_aligned(const void* p, size_t alignment) { return (uintptr_t)p % alignment == 0; }

static void fill(void* block, size_t size) { memset(block, 0xA5, size); }

static int holds(const void* block, size_t size) {
  const unsigned char* bytes = block;
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != 0xA5) return 0;
  }
  return 1;
}

static void check_malloc(void) {
  static const size_t sizes[] = {0,    1,    8,     9,      16,      17,      100,
                                 1024, 4096, 10000, 100000, 1000000, 5000000, 70000000};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    errno = 77;
    void* a = malloc(sizes[i]);
    void* b = malloc(sizes[i]);
    CHECK(a != NULL && b != NULL && a != b);
    CHECK(is_aligned(a, sizes[i] > 8 ? 16 : 8));
    CHECK(malloc_usable_size(a) >= sizes[i]);
    fill(a, malloc_usable_size(a));
    free(a);
    free(b);
    CHECK(errno == 77);
  }
  errno = 77;
  free(NULL);
  CHECK(errno == 77);
  CHECK(malloc_usable_size(NULL) == 0);
  errno = 0;
  CHECK(malloc(too_much) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(malloc(most) == NULL && errno == ENOMEM);
}

static void check_calloc(void) {
  for (size_t size = 1; size < 3000000; size = size * 3 + 1) {
    unsigned char* dirty = malloc(size);
    fill(dirty, size);
    free(dirty);
    unsigned char* clean = calloc(1, size);
    size_t nonzero = 0;
    for (size_t i = 0; i < size; ++i) nonzero += clean[i] != 0;
    CHECK(nonzero == 0);
    free(clean);
  }
  errno = 0;
  CHECK(calloc(most / 2, 3) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(most, most) == NULL && errno == ENOMEM);
  void* none = calloc(0, 100);
  CHECK(none != NULL);
  free(none);
}

static void check_realloc(void) {
  char* p = realloc(NULL, 50);
  CHECK(p != NULL);
  fill(p, 50);
  for (size_t size = 50; size < 20000000; size = size * 2 + 7) {
    p = realloc(p, size);
    CHECK(p != NULL && is_aligned(p, 16) && holds(p, 50));
    CHECK(malloc_usable_size(p) >= size);
    fill(p, size);
  }
  p = realloc(p, 60);
  CHECK(p != NULL && holds(p, 60));
  errno = 0;
  CHECK(realloc(p, too_much) == NULL && errno == ENOMEM);
  CHECK(holds(p, 60));
  errno = 0;
  CHECK(reallocarray(p, most / 2, 3) == NULL && errno == ENOMEM);
  CHECK(holds(p, 60));
  p = reallocarray(p, 30, 4);
  CHECK(p != NULL && holds(p, 60) && malloc_usable_size(p) >= 120);
  errno = 77;
  CHECK(realloc(p, 0) == NULL);  // freed
  CHECK(errno == 77);
  CHECK(reallocarray(malloc(10), 10, 0) == NULL);
  p = realloc(NULL, 0);
  CHECK(p != NULL);
  free(p);
}

static void check_aligned(void) {
  for (size_t alignment = 1; alignment <= (size_t)1 << 26; alignment <<= 1) {
    for (size_t size = 0; size <= 100000; size = size * 7 + 1) {
      void* a = aligned_alloc(alignment, size);
      void* b = memalign(alignment, size);
      CHECK(a != NULL && is_aligned(a, alignment) && malloc_usable_size(a) >= size);
      CHECK(b != NULL && is_aligned(b, alignment) && malloc_usable_size(b) >= size);
      fill(a, size);
      fill(b, size);
      CHECK(holds(a, size));
      if (alignment >= sizeof(void*)) {
        void* c = NULL;
        CHECK(posix_memalign(&c, alignment, size) == 0);
        CHECK(c != NULL && is_aligned(c, alignment) && malloc_usable_size(c) >= size);
        c = realloc(c, size + 100);
        CHECK(c != NULL);
        free(c);
      }
      free(a);
      free(b);
    }
  }
  static const size_t bad[] = {0, 3, 24, 4097, SIZE_MAX, SIZE_MAX / 2 + 2};
  for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); ++i) {
    if (!peer) {
      errno = 0;
      CHECK(aligned_alloc(bad[i], 100) == NULL && errno == EINVAL);
    }
    void* p = (void*)(intptr_t)0x1234;
    errno = 77;
    CHECK(posix_memalign(&p, bad[i], 100) == EINVAL);
    CHECK(p == (void*)(intptr_t)0x1234 && errno == 77);
  }
  void* p = (void*)(intptr_t)0x1234;
  CHECK(posix_memalign(&p, 4, 100) == EINVAL && p == (void*)(intptr_t)0x1234);
  errno = 77;
  CHECK(posix_memalign(&p, 64, too_much) == ENOMEM && p == (void*)(intptr_t)0x1234);
  if (!peer) CHECK(errno == 77);
  errno = 0;
  CHECK(aligned_alloc(64, too_much) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign((size_t)1 << 62, (size_t)1 << 62) == NULL && errno == ENOMEM);

  p = memalign(24, 100);  // rounded up
  CHECK(p != NULL && is_aligned(p, 32));
  free(p);
  p = memalign(0, 100);
  CHECK(p != NULL && is_aligned(p, 16));
  free(p);
  p = memalign(5000, 1);
  CHECK(p != NULL && is_aligned(p, 8192));
  free(p);
  errno = 0;
  CHECK(memalign(SIZE_MAX / 2 + 2, 100) == NULL && errno == EINVAL);
}

static void check_pages(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* p = valloc(10);
  CHECK(p != NULL && is_aligned(p, page));
  free(p);
  p = pvalloc(10);
  CHECK(p != NULL && is_aligned(p, page) && malloc_usable_size(p) >= page);
  free(p);
  p = pvalloc(page + 1);
  CHECK(p != NULL && is_aligned(p, page) && malloc_usable_size(p) >= 2 * page);
  free(p);
  p = pvalloc(0);
  CHECK(p != NULL && is_aligned(p, page));
  if (!peer) CHECK(malloc_usable_size(p) >= page);
  free(p);
  errno = 0;
  CHECK(pvalloc(most - 100) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(valloc(most - 100) == NULL && errno == ENOMEM);
}

#ifdef LINKED
#define FUNCTION(result, name, ...) extern result name(__VA_ARGS__)
#define LOOK_UP(name) (void)0
#else
#define FUNCTION(result, name, ...) static result (*name)(__VA_ARGS__)
#define LOOK_UP(name) *(void**)&name = dlsym(RTLD_DEFAULT, #name)
#endif
FUNCTION(void, free_sized, void*, size_t);
FUNCTION(void, free_aligned_sized, void*, size_t, size_t);
FUNCTION(void, cfree, void*);
FUNCTION(int, __posix_memalign, void**, size_t, size_t);
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void* __libc_valloc(size_t);
extern void* __libc_pvalloc(size_t);

static void check_other_names(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  // All names share one heap: a block from one name may be freed with another.
  void* p = __libc_malloc(100);
  CHECK(p != NULL && malloc_usable_size(p) >= 100);
  free(p);
  p = __libc_calloc(10, 10);
  CHECK(p != NULL && *(char*)p == 0);
  p = realloc(p, 1000);
  p = __libc_realloc(p, 2000);
  CHECK(p != NULL && malloc_usable_size(p) >= 2000);
  __libc_free(p);
  p = __libc_memalign(256, 10);
  CHECK(p != NULL && is_aligned(p, 256));
  free(p);
  p = __libc_valloc(10);
  CHECK(p != NULL && is_aligned(p, page));
  free(p);
  p = __libc_pvalloc(10);
  CHECK(p != NULL && is_aligned(p, page));
  free(p);
  if (peer) return;
  LOOK_UP(free_sized);
  LOOK_UP(free_aligned_sized);
  LOOK_UP(cfree);
  LOOK_UP(__posix_memalign);
  errno = 77;
  free_sized(NULL, 10);
  free_aligned_sized(NULL, 64, 10);
  for (size_t size = 1; size < 1000000; size *= 3) {
    free_sized(malloc(size), size);
    free_sized(calloc(size, 1), size);
    free_sized(realloc(malloc(size * 4), size), size);  // may stay in its larger block
    free_aligned_sized(aligned_alloc(64, size), 64, size);
    cfree(malloc(size));
  }
  CHECK(errno == 77);
  p = NULL;
  CHECK(__posix_memalign(&p, 512, 10) == 0 && is_aligned(p, 512));
  free(p);
}

static void check_reports(void) {
  enum { kBlocks = 100, kSize = 1 << 20, kSmall = 20000 };
  static void* large[kBlocks];
  static void* small[kSmall];
  const struct mallinfo2 before = mallinfo2();
  for (int i = 0; i < kBlocks; ++i) large[i] = malloc(kSize);
  for (int i = 0; i < kSmall; ++i) small[i] = malloc(100);
  const struct mallinfo2 during = mallinfo2();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
  for (int i = 0; i < kBlocks; ++i) free(large[i]);
  for (int i = 0; i < kSmall; ++i) free(small[i]);
  const struct mallinfo2 after = mallinfo2();

  const size_t asked = (size_t)kBlocks * kSize + (size_t)kSmall * 100;
  const size_t held_before = before.uordblks + before.hblkhd;
  const size_t held_during = during.uordblks + during.hblkhd;
  const size_t held_after = after.uordblks + after.hblkhd;
  CHECK(held_during - held_before >= asked);
  CHECK(held_during - held_before < asked + asked / 3);
  CHECK(held_after - held_before < asked / 10);
  CHECK(during.arena == during.uordblks + during.fordblks);
  CHECK((size_t)narrow.uordblks + (size_t)narrow.hblkhd == held_during);
  if (!peer) {
    CHECK(during.hblks - before.hblks == kBlocks);
    CHECK(during.hblkhd - before.hblkhd >= (size_t)kBlocks * kSize);
  }

  const int trimmed = malloc_trim(0);
  CHECK(trimmed == 0 || trimmed == 1);
  free(malloc(100));  // a free block for malloc_info to report
  CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
  CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
  CHECK(mallopt(M_ARENA_MAX, 2) == 1);
  CHECK(mallopt(M_MXFAST, 100000) == 0);
  CHECK(mallopt(M_MXFAST, -1) == 0);
  CHECK(mallopt(M_ARENA_MAX, 0) == 1);
  CHECK(mallopt(12345, 1) == 1);  // unknown
  CHECK(mallopt(-100, 0) == 1);
  if (!peer) CHECK(mallopt(M_PERTURB, 1) == 0);
  if (!peer) CHECK(malloc_info(1, stdout) == EINVAL);
  CHECK(malloc_info(0, stdout) == 0);
  malloc_stats();
}

int main(int argc, char** argv) {
  peer = argc > 1 && strcmp(argv[1], "peer") == 0;
  check_malloc();
  check_calloc();
  check_realloc();
  check_aligned();
  check_pages();
  check_other_names();
  check_reports();
  return failures != 0;
}
