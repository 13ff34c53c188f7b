// SPDX-License-Identifier: Apache-2.0
// Memory for n objects, with the error handling of operator new, for the allocator classes. Not for
// programs to include.
#ifndef CORBEL_DETAIL_ALLOCATE_HPP
#define CORBEL_DETAIL_ALLOCATE_HPP

#include <cstddef>
#include <new>

#include <corbel/malloc.h>
#include <corbel/detail/config.hpp>

#if defined(__has_include)
#if __cplusplus >= 201703L && __has_include(<memory_resource>)
#define CORBEL_HAS_MEMORY_RESOURCE 1
#endif
#endif
#if !defined(CORBEL_HAS_MEMORY_RESOURCE)
#define CORBEL_HAS_MEMORY_RESOURCE 0
#endif

namespace corbel {
namespace detail {

// Like corbel_allocate, but always from libcorbelmalloc.
inline void* scalable_allocate(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t natural = size <= 8 ? 8 : 16;
  return alignment <= natural ? scalable_malloc(size)
                              : scalable_aligned_malloc(size == 0 ? 1 : size, alignment);
}

// The source of the memory: scalable_allocate or corbel_allocate.
using allocate_function = void* (*)(std::size_t size, std::size_t alignment);

// Returns a block of `size` bytes aligned to `alignment`, never nullptr. If memory is exhausted,
// does what operator new must do (C++17 21.6.2.1): calls the new-handler and tries again until
// there is no handler, then throws bad_alloc. Exceptions of the handler propagate.
inline void* allocate_or_throw(allocate_function allocate, std::size_t size,
                               std::size_t alignment) {
  for (;;) {
    void* block = allocate(size, alignment);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) raise(std::bad_alloc());
    handler();
  }
}

// Returns the largest n for which n objects of T fit into PTRDIFF_MAX bytes.
template <typename T>
constexpr std::size_t max_count() {
  return static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);
}

// Returns memory for `count` objects of T. If `count` exceeds max_count, throws
// bad_array_new_length, which is a bad_alloc, without calling the new-handler, which could not
// help.
template <typename T>
inline T* allocate_objects(allocate_function allocate, std::size_t count, std::size_t alignment) {
  if (count > max_count<T>()) raise(std::bad_array_new_length());
  return static_cast<T*>(allocate_or_throw(allocate, count * sizeof(T),
                                           alignof(T) > alignment ? alignof(T) : alignment));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ALLOCATE_HPP
