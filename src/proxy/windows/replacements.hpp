// SPDX-License-Identifier: Apache-2.0
// What the replaced functions do: the library's functions, as Microsoft documents them, on this
// allocator. The last arguments say which library was called (`runtime`), and by which of its
// functions (`called`). A block of the library's own goes to that function's original.
#pragma once

#include <corbel/malloc.h>
#include <stddef.h>

#include "proxy/windows/runtime.hpp"

extern "C" {
// The allocator's functions for proxies: they tell a block of another allocator by its address.
void __TBB_malloc_safer_free(void* block, void (*original)(void*)) noexcept;
size_t __TBB_malloc_safer_msize(void* block, size_t (*original)(void*)) noexcept;
}

namespace corbel::proxy {

template <class Type>
Type* original(const Runtime& runtime, Function function) {
  return reinterpret_cast<Type*>(const_cast<void*>(runtime.original[function]));
}

// ---- failures -----------------------------------------------------------------------------------

void set_error(const Runtime& runtime, int number);
// Calls the library's handler, which may end the program. Sets errno to EINVAL.
void report_invalid_argument(const Runtime& runtime);

// Whether to try again: there is a new-handler, and it thinks so. With `always`, it is asked
// whether or not malloc does so (_set_new_mode).
bool ask_new_handler(const Runtime& runtime, size_t size, bool always);

// `attempt()` until it gives a block or there is no hope. Sets errno to ENOMEM then.
template <class Attempt>
void* allocate_with(const Runtime& runtime, size_t size, Attempt attempt) {
  for (;;) {
    void* const block = attempt();
    if (block != nullptr) [[likely]]
      return block;
    if (!ask_new_handler(runtime, size, false)) break;
  }
  set_error(runtime, 12);  // ENOMEM
  return nullptr;
}

// ---- blocks -------------------------------------------------------------------------------------

bool is_foreign(void* block);
// The bytes of a block of ours.
inline size_t size_of(void* block) { return __TBB_malloc_safer_msize(block, nullptr); }

// The rest of allocate(), when there is no memory.
void* allocate_again(size_t size, const Runtime& runtime);

inline void* allocate(size_t size, const Runtime& runtime) {
  void* const block = scalable_malloc(size);
  return block != nullptr ? block : allocate_again(size, runtime);
}

inline void release(void* block, const Runtime& runtime, Function called) {
  __TBB_malloc_safer_free(block, original<void(void*)>(runtime, called));
}

void* allocate_zeroed(size_t count, size_t size, const Runtime& runtime);
void* reallocate(void* block, size_t size, const Runtime& runtime, Function called);
void* reallocate_zeroed(void* block, size_t count, size_t size, const Runtime& runtime,
                        Function called);
void* expand(void* block, size_t size, const Runtime& runtime, Function called);
size_t block_size(void* block, const Runtime& runtime, Function called);

// ---- aligned blocks -----------------------------------------------------------------------------

void* allocate_aligned(size_t size, size_t alignment, size_t offset, const Runtime& runtime);
void* reallocate_aligned(void* block, size_t size, size_t alignment, size_t offset,
                         const Runtime& runtime);
void* reallocate_zeroed_aligned(void* block, size_t count, size_t size, size_t alignment,
                                size_t offset, const Runtime& runtime);
void release_aligned(void* block, const Runtime& runtime, Function called);
size_t aligned_block_size(void* block, size_t alignment, size_t offset, const Runtime& runtime,
                          Function called);

// ---- debug functions ----------------------------------------------------------------------------
// With the arguments that the originals need for a block of their own.

void release_dbg(void* block, int type, const Runtime& runtime, Function called);
size_t block_size_dbg(void* block, int type, const Runtime& runtime, Function called);
void* reallocate_dbg(void* block, size_t size, int type, const char* file, int line,
                     const Runtime& runtime, Function called);
void* reallocate_zeroed_dbg(void* block, size_t count, size_t size, int type, const char* file,
                            int line, const Runtime& runtime, Function called);
void* expand_dbg(void* block, size_t size, int type, const char* file, int line,
                 const Runtime& runtime, Function called);

// ---- operator new -------------------------------------------------------------------------------

// If there is no memory, `called` throws: an exception of the library, that its callers can catch.
void* new_block(size_t size, const Runtime& runtime, Function called);
void* new_aligned_block(size_t size, size_t alignment, const Runtime& runtime, Function called);
// If there is no memory, it is asked for it: it calls the other form, and knows how to catch.
void* new_block_nothrow(size_t size, const void* nothrow, const Runtime& runtime, Function called);
void* new_aligned_block_nothrow(size_t size, size_t alignment, const void* nothrow,
                                const Runtime& runtime, Function called);

}  // namespace corbel::proxy
