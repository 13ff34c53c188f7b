// SPDX-License-Identifier: Apache-2.0
// What the allocator classes share: memory for n objects, as operator new would get it. Not for
// programs to include.
#ifndef CORBEL_DETAIL_ALLOCATE_HPP
#define CORBEL_DETAIL_ALLOCATE_HPP

#include <cstddef>
#include <exception>
#include <new>

#include <corbel/malloc.h>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define CORBEL_EXCEPTIONS 1
#else
#define CORBEL_EXCEPTIONS 0
#endif

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

// The length of a cache line, what two threads must keep apart to not slow each other down.
#if defined(__aarch64__) && defined(__APPLE__)
constexpr std::size_t kCacheLine = 128;
#else
constexpr std::size_t kCacheLine = 64;
#endif

// What scalable_malloc aligns a block of `size` bytes to.
constexpr std::size_t natural_alignment(std::size_t size) { return size <= 8 ? 8 : 16; }

// Throws `error`; where exceptions are switched off, ends the program as a throw would.
template <typename Error>
[[noreturn]] inline void raise(const Error& error) {
#if CORBEL_EXCEPTIONS
  throw error;
#else
  static_cast<void>(error);
  std::terminate();
#endif
}

// A block of `size` bytes aligned to `alignment`, never nullptr. Does what operator new must do
// (C++17 21.6.2.1) when memory is exhausted: calls the new-handler and tries again until there is
// no handler, then throws bad_alloc. Whatever the handler throws passes through.
inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  for (;;) {
    void* block = alignment <= natural_alignment(size)
                      ? scalable_malloc(size)
                      : scalable_aligned_malloc(size == 0 ? 1 : size, alignment);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) raise(std::bad_alloc());
    handler();
  }
}

// The largest n for which n objects of T can be asked for at all.
template <typename T>
constexpr std::size_t max_count() {
  return static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);
}

// Memory for `count` objects of T. More than max_count throws bad_array_new_length, which is a
// bad_alloc, without asking the new-handler: no memory it could free would help.
template <typename T>
inline T* allocate_objects(std::size_t count, std::size_t alignment) {
  if (count > max_count<T>()) raise(std::bad_array_new_length());
  return static_cast<T*>(
      allocate_or_throw(count * sizeof(T), alignof(T) > alignment ? alignof(T) : alignment));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ALLOCATE_HPP
