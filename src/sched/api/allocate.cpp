// SPDX-License-Identifier: Apache-2.0
// Memory for the headers' containers in a program that has the scheduler: from Corbel's allocator
// if the program links it, else from the C library.
//
// Both of Corbel's libraries define these two functions. All files of a process use those of the
// library that the loader found first.
#include <corbel/malloc.h>
#include <corbel/detail/allocate.hpp>
#include <corbel/detail/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

// Null without the allocator: decided once, when the library is loaded.
#pragma weak scalable_malloc
#pragma weak scalable_aligned_malloc
#pragma weak scalable_free

// Weak, since a program that links both libraries statically has two definitions.
#define CORBEL_ALSO_IN_ALLOCATOR CORBEL_EXPORT __attribute__((weak, nothrow))

namespace {

void* from_libc(std::size_t size, std::size_t alignment) {
  void* block = nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return posix_memalign(&block, alignment, size == 0 ? 1 : size) == 0 ? block : nullptr;
}

}  // namespace

extern "C" {

CORBEL_ALSO_IN_ALLOCATOR void* corbel_allocate(std::size_t size, std::size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  if (scalable_malloc == nullptr) return from_libc(size, alignment);
  return corbel::detail::scalable_allocate(size, alignment);
}

CORBEL_ALSO_IN_ALLOCATOR void corbel_deallocate(void* ptr) {
  if (scalable_free == nullptr) {
    std::free(ptr);
  } else {
    scalable_free(ptr);
  }
}
}
