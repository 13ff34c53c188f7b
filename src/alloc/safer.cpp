// SPDX-License-Identifier: Apache-2.0
// The functions of TBB's allocator that TBB's own malloc proxy calls. Each handles a block of ours
// itself, and passes any other pointer to the original function that it is given. They let TBB's
// proxy work with this allocator.
#include <errno.h>
#include <stddef.h>

#include "alloc/allocator.hpp"
#include "alloc/heap/fast_path.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace alloc = corbel::alloc;
namespace os = corbel::os;

namespace {

// The slab comes last, so that the fast path need not save the other arguments.
__attribute__((noinline)) void safer_free_slow(void* block, void (*original_free)(void*),
                                               alloc::Span* slab) {
  if (block == nullptr) return;
  if (slab->tag() != alloc::span_tag::kForeign) {
    return alloc::deallocate_slow(block, slab, alloc::kFreed);
  }
  if (original_free != nullptr) original_free(block);
}

void* allocate_moved(size_t size, size_t alignment) {
  return alignment == 0 ? alloc::allocate(size) : alloc::allocate_aligned(size, alignment);
}

}  // namespace

extern "C" {

#define CORBEL_SAFER_API __attribute__((visibility("default")))

// If `original_free` is nullptr, a foreign block is not freed.
CORBEL_SAFER_API void __TBB_malloc_safer_free(void* block, void (*original_free)(void*)) noexcept {
  alloc::Span* const slab = alloc::find_span(block);
  if (!alloc::push_own(slab, block)) safer_free_slow(block, original_free, slab);
}

// os/original.hpp says what `original` is.
CORBEL_SAFER_API void* __TBB_malloc_safer_realloc(void* block, size_t size,
                                                  void* original) noexcept {
  if (block == nullptr || alloc::owns(block)) return alloc::reallocate(block, size);
  if (original == nullptr) {
    os::set_errno(ENOMEM);
    return nullptr;
  }
  return os::reallocate_original(block, size, 0, original, allocate_moved);
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

// Fails for a foreign block, which is unchanged, where there is no original to call.
CORBEL_SAFER_API void* __TBB_malloc_safer_aligned_realloc(void* block, size_t size,
                                                          size_t alignment,
                                                          void* original) noexcept {
  if (!corbel::is_power_of_two(alignment)) {
    os::set_errno(EINVAL);
    return nullptr;
  }
  if (block == nullptr || alloc::owns(block)) {
    return alloc::reallocate_aligned(block, size, alignment);
  }
  void* moved = nullptr;
  if (original != nullptr) {
    moved = os::reallocate_original(block, size, alignment, original, allocate_moved);
  }
  if (moved == nullptr) os::set_errno(ENOMEM);
  return moved;
}

// Requires: the block is one of ours. The size is not needed.
CORBEL_SAFER_API void __TBB_malloc_free_definite_size(void* block, size_t) noexcept {
  alloc::deallocate(block);
}

}  // extern "C"
