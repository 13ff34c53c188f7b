// SPDX-License-Identifier: Apache-2.0
// Replaces the malloc family of glibc and musl: the C functions that allocate, and their aliases.
// linux_report.cpp has the functions that report and tune, new_delete.cpp operator new and delete.
//
// No function here calls another of this file, or a public scalable_* function, by name: the
// dynamic linker would pick the first definition in the process, which need not be this library's.
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc/allocator.hpp"
#include "alloc/heap/fast_path.hpp"
#include "alloc/stacks/stack_table.hpp"
#include "base/bits.hpp"
#include "proxy/linux/foreign.hpp"
#include "proxy/linux/proxy.hpp"

namespace corbel::proxy {
namespace {

void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

// allocate_fast() aligns blocks of up to eight bytes to eight, all others to 16.
inline void* aligned(size_t size, size_t alignment) {
  if (alignment <= sizeof(void*) || (alignment <= alloc::kMinAlignment && size > sizeof(void*))) {
    return alloc::allocate_fast(size);
  }
  return alloc::allocate_aligned(size, alignment);
}

// The slab comes last, so that the fast path need not save the other arguments.
__attribute__((noinline)) void free_sized_slow(void* block, size_t size, alloc::Span* slab) {
  alloc::deallocate_slow(block, slab, alloc::Release::by(alloc::ReleaseKind::kFree, size));
}
__attribute__((noinline)) void free_aligned_sized_slow(void* block, size_t alignment, size_t size,
                                                       alloc::Span* slab) {
  alloc::deallocate_slow(block, slab,
                         alloc::Release::by(alloc::ReleaseKind::kFree, size, alignment));
}

size_t system_page_size() {
  static size_t size = 0;
  // relaxed: nothing else is published, and every thread stores the same number
  size_t known = __atomic_load_n(&size, __ATOMIC_RELAXED);
  if (known == 0) {
    known = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    __atomic_store_n(&size, known, __ATOMIC_RELAXED);  // relaxed: as above
  }
  return known;
}

// Runs before the constructors of the program and of ordinary libraries.
__attribute__((constructor(101))) void start() {
  install_foreign_handlers();
#if !defined(CORBEL_STATIC)
  alloc::hide_code(unwind::own_code());
#endif
}

}  // namespace
}  // namespace corbel::proxy

using corbel::is_power_of_two;
using corbel::proxy::aligned;
using corbel::proxy::out_of_memory;
namespace alloc = corbel::alloc;

extern "C" {

// ---- C, and POSIX -----------------------------------------------------------------------------

CORBEL_PROXY_API void* malloc(size_t size) noexcept { return alloc::allocate_fast(size); }

CORBEL_PROXY_API void free(void* block) noexcept { alloc::deallocate_fast(block); }

CORBEL_PROXY_API void* calloc(size_t count, size_t size) noexcept {
  return alloc::allocate_zeroed(count, size);
}

// (p, 0) frees and returns null, as in glibc; C23 leaves it undefined.
CORBEL_PROXY_API void* realloc(void* block, size_t size) noexcept {
  return alloc::reallocate(block, size);
}

// C23 7.24.3.3 says "fails" for an alignment that is not supported; glibc (2.38) adds EINVAL.
CORBEL_PROXY_API void* aligned_alloc(size_t alignment, size_t size) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return aligned(size, alignment);
}

// POSIX.1-2017: the result is the error; errno and, on error, *result are left alone.
CORBEL_PROXY_API int posix_memalign(void** result, size_t alignment, size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* block = aligned(size, alignment);
  if (block == nullptr) {
    errno = saved;
    return ENOMEM;
  }
  *result = block;
  return 0;
}

// C23 7.24.3.4 and 5. Only slow paths look at the size: the slab knows it.
CORBEL_PROXY_API void free_sized(void* block, size_t size) noexcept {
  alloc::Span* const slab = alloc::find_span(block);
  if (!alloc::push_own(slab, block)) corbel::proxy::free_sized_slow(block, size, slab);
}

CORBEL_PROXY_API void free_aligned_sized(void* block, size_t alignment, size_t size) noexcept {
  alloc::Span* const slab = alloc::find_span(block);
  if (!alloc::push_own(slab, block)) {
    corbel::proxy::free_aligned_sized_slow(block, alignment, size, slab);
  }
}

// ---- BSD and glibc ----------------------------------------------------------------------------

CORBEL_PROXY_API void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
  return alloc::reallocate(block, bytes);
}

// Like glibc, rounds an alignment that is not a power of two up to one. Fails with EINVAL only if
// that is impossible.
CORBEL_PROXY_API void* memalign(size_t alignment, size_t size) noexcept {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  size_t rounded = alloc::kMinAlignment;
  while (rounded < alignment) rounded <<= 1;
  return aligned(size, rounded);
}

CORBEL_PROXY_API void* valloc(size_t size) noexcept {
  return aligned(size, corbel::proxy::system_page_size());
}

// Rounds up to whole pages. For size 0 glibc returns an empty block; BSD, where the function comes
// from, returns a page, and so do we.
CORBEL_PROXY_API void* pvalloc(size_t size) noexcept {
  const size_t page = corbel::proxy::system_page_size();
  size_t end;
  if (__builtin_add_overflow(size, page - 1, &end)) return out_of_memory();
  const size_t rounded = end & ~(page - 1);
  return aligned(rounded != 0 ? rounded : page, page);
}

CORBEL_PROXY_API void cfree(void* block) noexcept { alloc::deallocate_fast(block); }

CORBEL_PROXY_API size_t malloc_usable_size(void* block) noexcept {
  return alloc::usable_size(block);
}

// ---- aliases ----------------------------------------------------------------------------------

// The aliases lack some attributes of their targets, which matter only to callers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wattribute-alias"
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#define CORBEL_PROXY_ALSO(name) CORBEL_PROXY_API __attribute__((alias(#name)))

CORBEL_PROXY_ALSO(malloc) void* __libc_malloc(size_t) noexcept;
CORBEL_PROXY_ALSO(free) void __libc_free(void*) noexcept;
CORBEL_PROXY_ALSO(calloc) void* __libc_calloc(size_t, size_t) noexcept;
CORBEL_PROXY_ALSO(realloc) void* __libc_realloc(void*, size_t) noexcept;
CORBEL_PROXY_ALSO(reallocarray) void* __libc_reallocarray(void*, size_t, size_t) noexcept;
CORBEL_PROXY_ALSO(memalign) void* __libc_memalign(size_t, size_t) noexcept;
CORBEL_PROXY_ALSO(valloc) void* __libc_valloc(size_t) noexcept;
CORBEL_PROXY_ALSO(pvalloc) void* __libc_pvalloc(size_t) noexcept;
CORBEL_PROXY_ALSO(posix_memalign) int __posix_memalign(void**, size_t, size_t) noexcept;
#pragma GCC diagnostic pop

// ---- anchors ----------------------------------------------------------------------------------

// Headers refer to these names so that the linker keeps the library. Some headers call them.
CORBEL_PROXY_API void __TBB_malloc_proxy() noexcept {}
CORBEL_PROXY_API void corbel_malloc_proxy() noexcept {}

// ---- the addresses of our own definitions -----------------------------------------------------

#define CORBEL_PROXY_FUNCTIONS(each)                                                       \
  each(malloc) each(free) each(calloc) each(realloc) each(reallocarray) each(memalign)     \
      each(aligned_alloc) each(posix_memalign) each(valloc) each(pvalloc) each(free_sized) \
          each(free_aligned_sized) each(cfree) each(malloc_usable_size)
CORBEL_PROXY_FUNCTIONS(CORBEL_PROXY_DECLARE_SELF)
CORBEL_PROXY_FUNCTIONS(CORBEL_PROXY_DEFINE_SELF)

// Defined in linux_report.cpp. Because of these references, a program that takes malloc from the
// static library takes these functions too, rather than the C library's, whose object file would
// bring the C library's malloc along.
#define CORBEL_PROXY_REPORTS(each)                                                  \
  each(malloc_trim) each(mallopt) each(mallinfo) each(mallinfo2) each(malloc_stats) \
      each(malloc_info)
CORBEL_PROXY_REPORTS(CORBEL_PROXY_DECLARE_SELF)

}  // extern "C"

namespace corbel::proxy {

#define CORBEL_PROXY_ENTRY(name) \
  {#name, #name, reinterpret_cast<const void*>(&CORBEL_PROXY_SELF(name))},

const Symbol kFunctions[] = {CORBEL_PROXY_FUNCTIONS(CORBEL_PROXY_ENTRY) CORBEL_PROXY_REPORTS(
    CORBEL_PROXY_ENTRY){nullptr, nullptr, nullptr}};

}  // namespace corbel::proxy
