// SPDX-License-Identifier: Apache-2.0
// The functions that the original's proxy calls in the original's allocator: each deals with a
// block of ours, and hands every other pointer to the function it is given. A proxy of that family
// keeps working on this allocator through them.
#include <errno.h>
#include <stddef.h>

#include "alloc/allocator.hpp"
#include "base/bits.hpp"

namespace alloc = corbel::alloc;

extern "C" {

#define CORBEL_SAFER_API __attribute__((visibility("default")))

// Without an original function a foreign block is left alone.
CORBEL_SAFER_API void __TBB_malloc_safer_free(void* block, void (*original_free)(void*)) noexcept {
  if (block == nullptr) return;
  if (alloc::owns(block)) return alloc::deallocate(block);
  if (original_free != nullptr) original_free(block);
}

// `original_realloc` is a void* (*)(void*, size_t).
CORBEL_SAFER_API void* __TBB_malloc_safer_realloc(void* block, size_t size,
                                                  void* original_realloc) noexcept {
  if (block == nullptr || alloc::owns(block)) return alloc::reallocate(block, size);
  if (original_realloc == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  return reinterpret_cast<void* (*)(void*, size_t)>(original_realloc)(block, size);
}

CORBEL_SAFER_API size_t __TBB_malloc_safer_msize(void* block,
                                                 size_t (*original_msize)(void*)) noexcept {
  if (block == nullptr) return 0;
  if (alloc::owns(block)) return alloc::usable_size(block);
  return original_msize != nullptr ? original_msize(block) : 0;
}

CORBEL_SAFER_API size_t
__TBB_malloc_safer_aligned_msize(void* block, size_t alignment, size_t offset,
                                 size_t (*original_msize)(void*, size_t, size_t)) noexcept {
  if (block == nullptr) return 0;
  if (alloc::owns(block)) return alloc::usable_size(block);
  return original_msize != nullptr ? original_msize(block, alignment, offset) : 0;
}

// No function of this system reallocates an aligned block, so there is no original to ask: a
// foreign block is refused, and left as it is.
CORBEL_SAFER_API void* __TBB_malloc_safer_aligned_realloc(void* block, size_t size,
                                                          size_t alignment, void*) noexcept {
  if (!corbel::is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  if (block == nullptr || alloc::owns(block)) {
    return alloc::reallocate_aligned(block, size, alignment);
  }
  errno = ENOMEM;
  return nullptr;
}

// The caller knows that the block is one of ours, and its size.
CORBEL_SAFER_API void __TBB_malloc_free_definite_size(void* block, size_t) noexcept {
  alloc::deallocate(block);
}

}  // extern "C"
