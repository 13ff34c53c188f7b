// SPDX-License-Identifier: Apache-2.0
// The allocator as the rest of the tree sees it: the proxy, the pools and the C API are written
// against this file alone (and against fast_path.hpp where a call would cost too much).
//
// Every function may be called from any thread, at any time in the life of a process, fork
// children and exit handlers included. None throws; none calls the operating system's malloc.
#pragma once

#include <corbel/malloc.h>

#include <cstddef>
#include <cstdint>

// Exported between the allocator's own libraries, under a version node of their own. A program that
// contains the allocator keeps it to itself: a preloaded proxy must not bind to its parts.
#if defined(CORBEL_STATIC)
#define CORBEL_PRIVATE_API
#else
#define CORBEL_PRIVATE_API __attribute__((visibility("default")))
#endif

namespace corbel::alloc {

// Alignment of every block larger than eight bytes: alignof(max_align_t) on the supported ABIs.
inline constexpr std::size_t kMinAlignment = 16;

// A block of at least `size` bytes, aligned to 16 (8 where size <= 8). Size 0 gives a unique block.
// nullptr with errno ENOMEM when memory is exhausted or size > PTRDIFF_MAX.
CORBEL_PRIVATE_API void* allocate(std::size_t size) noexcept;

// `count * size` bytes, all zero; nullptr with ENOMEM on overflow too.
CORBEL_PRIVATE_API void* allocate_zeroed(std::size_t count, std::size_t size) noexcept;

// `alignment` must be a power of two (the caller has checked); any size of it is served as far as
// the address space allows. nullptr with ENOMEM.
CORBEL_PRIVATE_API void* allocate_aligned(std::size_t size, std::size_t alignment) noexcept;

// Frees a block of this allocator; nullptr is ignored; errno is kept. A pointer that is not ours
// goes to the foreign handler (below); without one the process ends with one clear line.
CORBEL_PRIVATE_API void deallocate(void* block) noexcept;

// As realloc: (nullptr, n) allocates; size 0 frees and returns nullptr. On failure the old block
// is untouched. The result keeps 16-byte alignment only. Foreign blocks go to the foreign handler.
CORBEL_PRIVATE_API void* reallocate(void* block, std::size_t size) noexcept;

// As reallocate with the result aligned to `alignment` (a power of two).
CORBEL_PRIVATE_API void* reallocate_aligned(void* block, std::size_t size,
                                            std::size_t alignment) noexcept;

// The bytes the caller may use in `block`; 0 for nullptr and for a foreign pointer.
CORBEL_PRIVATE_API std::size_t usable_size(const void* block) noexcept;

// Whether `block` is the start of a block that may be allocated; any value may be asked about.
CORBEL_PRIVATE_API bool is_block(const void* block) noexcept;

// Whether `block` points into memory this allocator hands out.
CORBEL_PRIVATE_API bool owns(const void* block) noexcept;

// Gives every cached and empty piece of memory back to the operating system, as far as this
// thread can reach it; at most `keep` bytes of free memory stay. Returns the bytes given back.
CORBEL_PRIVATE_API std::size_t trim(std::size_t keep) noexcept;

// What to do with pointers that another allocator made. `usable_size` returns 0 when it cannot
// say. The functions may end the process, but must say why in one line.
struct ForeignHandlers {
  void (*free)(void*);
  void* (*realloc)(void*, std::size_t);
  std::size_t (*usable_size)(void*);
};
CORBEL_PRIVATE_API void set_foreign_handlers(const ForeignHandlers* handlers) noexcept;

// Ends the process with one line on stderr: "corbel: <function>: <what> (block 0x...)".
[[noreturn]] CORBEL_PRIVATE_API void die(const char* function, const char* what,
                                         const void* block) noexcept;

// Figures of the whole process, which <corbel/malloc.h> documents. A snapshot taken without
// stopping other threads.
using Stats = struct ::corbel_heap_stats;
CORBEL_PRIVATE_API Stats stats() noexcept;

}  // namespace corbel::alloc
