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

#include "os/os.hpp"

// Null without the allocator.
CORBEL_OPTIONAL(scalable_malloc)
CORBEL_OPTIONAL(scalable_aligned_malloc)
CORBEL_OPTIONAL(scalable_free)

// Weak, since a program that links both libraries statically has two definitions. Not on Windows: a
// DLL cannot export what is weak, a static library offers it to no program, and there this file is
// an object of its own, which a program with the allocator's definition does not take.
#if defined(CORBEL_BUILDS_DLL) || defined(CORBEL_STATIC)
#define CORBEL_ALSO_IN_ALLOCATOR __attribute__((nothrow))
#else
#define CORBEL_ALSO_IN_ALLOCATOR __attribute__((weak, nothrow))
#endif

namespace {

// As scalable_allocate() of the headers.
void* from_allocator(std::size_t size, std::size_t alignment) {
  const std::size_t natural = size <= 8 ? 8 : 16;
  return alignment <= natural
             ? CORBEL_FIND(scalable_malloc)(size)
             : CORBEL_FIND(scalable_aligned_malloc)(size == 0 ? 1 : size, alignment);
}

}  // namespace

extern "C" {

CORBEL_ALSO_IN_ALLOCATOR void* corbel_allocate(std::size_t size, std::size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  if (CORBEL_FIND(scalable_malloc) == nullptr) return corbel::os::libc_allocate(size, alignment);
  return from_allocator(size, alignment);
}

CORBEL_ALSO_IN_ALLOCATOR void corbel_deallocate(void* ptr) {
  if (CORBEL_FIND(scalable_free) == nullptr) {
    corbel::os::libc_free(ptr);
  } else {
    CORBEL_FIND(scalable_free)(ptr);
  }
}
}
