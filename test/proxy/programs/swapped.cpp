// SPDX-License-Identifier: Apache-2.0
// A program linked to the original allocator and its proxy by symbol names only: it declares the
// functions it calls. It calls all of them; with -DAPART only those of the allocator.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

extern "C" {
void* scalable_malloc(std::size_t);
void scalable_free(void*);
void* scalable_realloc(void*, std::size_t);
void* scalable_calloc(std::size_t, std::size_t);
int scalable_posix_memalign(void**, std::size_t, std::size_t);
void* scalable_aligned_malloc(std::size_t, std::size_t);
void* scalable_aligned_realloc(void*, std::size_t, std::size_t);
void scalable_aligned_free(void*);
std::size_t scalable_msize(void*);
int scalable_allocation_mode(int, std::intptr_t);
int scalable_allocation_command(int, void*);
void __TBB_malloc_safer_free(void*, void (*)(void*));
void* __TBB_malloc_safer_realloc(void*, std::size_t, void*);
std::size_t __TBB_malloc_safer_msize(void*, std::size_t (*)(void*));
void* __TBB_malloc_safer_aligned_realloc(void*, std::size_t, std::size_t, void*);
std::size_t __TBB_malloc_safer_aligned_msize(void*, std::size_t, std::size_t,
                                             std::size_t (*)(void*, std::size_t, std::size_t));
void __TBB_malloc_proxy();
}

namespace rml {
class MemoryPool;
struct MemPoolPolicy {
  void* (*allocate)(std::intptr_t, std::size_t&);
  int (*release)(std::intptr_t, void*, std::size_t);
  std::size_t granularity;
  int version;
  unsigned flags;
};
enum MemPoolError { POOL_OK };
MemPoolError pool_create_v1(std::intptr_t, const MemPoolPolicy*, MemoryPool**);
MemoryPool* pool_create(std::intptr_t, const MemPoolPolicy*);
bool pool_destroy(MemoryPool*);
void* pool_malloc(MemoryPool*, std::size_t);
void* pool_realloc(MemoryPool*, void*, std::size_t);
void* pool_aligned_malloc(MemoryPool*, std::size_t, std::size_t);
void* pool_aligned_realloc(MemoryPool*, void*, std::size_t, std::size_t);
bool pool_reset(MemoryPool*);
bool pool_free(MemoryPool*, void*);
MemoryPool* pool_identify(void*);
std::size_t pool_msize(MemoryPool*, void*);
}  // namespace rml

static int failures = 0;
#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      ++failures;                                                                \
    }                                                                            \
  } while (0)

static void* pool_allocate(std::intptr_t, std::size_t& bytes) {
  return std::aligned_alloc(1 << 16, (bytes + 0xffff) & ~std::size_t{0xffff});
}
static int pool_release(std::intptr_t, void* p, std::size_t) {
  std::free(p);
  return 0;
}

static void check_scalable() {
  void* p = scalable_malloc(100);
  CHECK(p != nullptr && scalable_msize(p) >= 100);
  p = scalable_realloc(p, 10000);
  CHECK(p != nullptr && scalable_msize(p) >= 10000);
  scalable_free(p);
  p = scalable_calloc(10, 10);
  CHECK(p != nullptr && *static_cast<char*>(p) == 0);
  scalable_free(p);
  CHECK(scalable_posix_memalign(&p, 512, 100) == 0 && std::uintptr_t(p) % 512 == 0);
  scalable_free(p);
  p = scalable_aligned_malloc(100, 1024);
  CHECK(p != nullptr && std::uintptr_t(p) % 1024 == 0);
  p = scalable_aligned_realloc(p, 5000, 1024);
  CHECK(p != nullptr && std::uintptr_t(p) % 1024 == 0);
  scalable_aligned_free(p);
  CHECK(scalable_allocation_mode(12345, 0) == 1);
  CHECK(scalable_allocation_command(12345, nullptr) == 1);
}

static bool freed_elsewhere = false;
static void other_free(void*) { freed_elsewhere = true; }
static void* other_realloc(void*, std::size_t) { return &failures; }
static std::size_t other_size(void*) { return 42; }
static std::size_t other_aligned_size(void*, std::size_t, std::size_t) { return 43; }

static void check_safer() {
  static char foreign[256];
  __TBB_malloc_safer_free(scalable_malloc(10), other_free);
  CHECK(!freed_elsewhere);
  __TBB_malloc_safer_free(foreign, other_free);
  CHECK(freed_elsewhere);
  __TBB_malloc_safer_free(nullptr, other_free);
  __TBB_malloc_safer_free(foreign, nullptr);
  void* const realloc_of_others = reinterpret_cast<void*>(other_realloc);
  void* p = __TBB_malloc_safer_realloc(nullptr, 10, realloc_of_others);
  CHECK(p != nullptr && p != &failures);
  p = __TBB_malloc_safer_realloc(p, 1000, realloc_of_others);
  CHECK(p != nullptr && p != &failures && scalable_msize(p) >= 1000);
  CHECK(__TBB_malloc_safer_msize(p, other_size) == scalable_msize(p));
  CHECK(__TBB_malloc_safer_aligned_msize(p, 16, 0, other_aligned_size) == scalable_msize(p));
  p = __TBB_malloc_safer_aligned_realloc(p, 2000, 256, nullptr);
  CHECK(p != nullptr && std::uintptr_t(p) % 256 == 0);
  CHECK(__TBB_malloc_safer_realloc(p, 0, realloc_of_others) == nullptr);
  CHECK(__TBB_malloc_safer_realloc(foreign, 10, realloc_of_others) == &failures);
  CHECK(__TBB_malloc_safer_msize(foreign, other_size) == 42);
  CHECK(__TBB_malloc_safer_msize(foreign, nullptr) == 0);
  CHECK(__TBB_malloc_safer_msize(nullptr, other_size) == 0);
  CHECK(__TBB_malloc_safer_aligned_msize(foreign, 16, 0, other_aligned_size) == 43);
  CHECK(__TBB_malloc_safer_aligned_realloc(foreign, 10, 16, nullptr) == nullptr);
  errno = 0;
  CHECK(__TBB_malloc_safer_aligned_realloc(nullptr, 10, 24, nullptr) == nullptr && errno == EINVAL);
}

static void check_pools() {
  const rml::MemPoolPolicy policy = {pool_allocate, pool_release, 1 << 16, 1, 0};
  rml::MemoryPool* pool = nullptr;
  CHECK(rml::pool_create_v1(0, &policy, &pool) == rml::POOL_OK);
  if (pool == nullptr) return;
  void* p = rml::pool_malloc(pool, 100);
  CHECK(p != nullptr && rml::pool_identify(p) == pool && rml::pool_msize(pool, p) >= 100);
  p = rml::pool_realloc(pool, p, 1000);
  CHECK(p != nullptr && rml::pool_free(pool, p));
  p = rml::pool_aligned_malloc(pool, 100, 256);
  CHECK(p != nullptr && std::uintptr_t(p) % 256 == 0);
  p = rml::pool_aligned_realloc(pool, p, 3000, 256);
  CHECK(p != nullptr && std::uintptr_t(p) % 256 == 0);
  CHECK(rml::pool_reset(pool));
  CHECK(rml::pool_destroy(pool));
  // The old form takes a policy of version 0.
  const rml::MemPoolPolicy old = {pool_allocate, pool_release, 1 << 16, 0, 0};
  pool = rml::pool_create(0, &old);
  CHECK(pool != nullptr && rml::pool_destroy(pool));
}

#if !defined(APART)
// With the proxy in the process, both families share one heap.
static void check_together() {
  __TBB_malloc_proxy();
  std::free(scalable_malloc(100));
#if !defined(ONLY_TO_FREE)
  scalable_free(std::malloc(100));
#endif
  std::free(scalable_malloc(5000000));
  ::operator delete(scalable_malloc(100));
  void* p = std::realloc(scalable_malloc(100), 100000);
  CHECK(p != nullptr);
  std::free(p);
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) all.push_back(std::string(200, 'x'));
}

#endif

int main() {
  check_scalable();
  check_safer();
  check_pools();
#if !defined(APART)
  check_together();
#endif
  if (failures == 0) std::puts("all right");
  return failures != 0;
}
