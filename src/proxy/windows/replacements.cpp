// SPDX-License-Identifier: Apache-2.0
// What the replaced functions do with blocks that have no special alignment.
#include "proxy/windows/replacements.hpp"

#include <string.h>

#include "base/thread_variable.hpp"

namespace corbel::proxy {
namespace {

constexpr int kEinval = 22;
constexpr int kEnomem = 12;
// Microsoft's _HEAP_MAXREQ. The libraries do not ask the new-handler for more.
constexpr size_t kMaxRequest = ~size_t(0) & ~size_t(31);

// A library's errno may be memory that it allocates at the first use in a thread.
CORBEL_THREAD_VARIABLE(bool, is_in_errno) = false;

size_t tell_foreign(void*) { return ~size_t(0); }

}  // namespace

// ---- failures -----------------------------------------------------------------------------------

void set_error(const Runtime& runtime, int number) {
  if (runtime.error_number == nullptr || is_in_errno) return;
  is_in_errno = true;
  *runtime.error_number() = number;
  is_in_errno = false;
}

void report_invalid_argument(const Runtime& runtime) {
  set_error(runtime, kEinval);
  if (runtime.invalid_argument != nullptr) runtime.invalid_argument();
}

bool ask_new_handler(const Runtime& runtime, size_t size, bool always) {
  if (runtime.call_new_handler == nullptr) return false;
  if (!always) {
    if (size > kMaxRequest || runtime.new_mode == nullptr || runtime.new_mode() == 0) return false;
  }
  return runtime.call_new_handler(size) != 0;
}

// ---- blocks -------------------------------------------------------------------------------------

bool is_foreign(void* block) { return __TBB_malloc_safer_msize(block, tell_foreign) == ~size_t(0); }

void* allocate_again(size_t size, const Runtime& runtime) {
  return allocate_with(runtime, size, [size] { return scalable_malloc(size); });
}

// All of the block is zeroed, since _recalloc takes all of it for its content.
void* allocate_zeroed(size_t count, size_t size, const Runtime& runtime) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    set_error(runtime, kEnomem);
    return nullptr;
  }
  void* const block =
      allocate_with(runtime, bytes, [count, size] { return scalable_calloc(count, size); });
  if (block != nullptr) memset(static_cast<char*>(block) + bytes, 0, size_of(block) - bytes);
  return block;
}

void* reallocate(void* block, size_t size, const Runtime& runtime, Function called) {
  if (block == nullptr) return allocate(size, runtime);
  if (is_foreign(block)) return original<void*(void*, size_t)>(runtime, called)(block, size);
  if (size == 0) {
    scalable_free(block);
    return nullptr;
  }
  return allocate_with(runtime, size, [block, size] { return scalable_realloc(block, size); });
}

void* reallocate_zeroed(void* block, size_t count, size_t size, const Runtime& runtime,
                        Function called) {
  if (block == nullptr) return allocate_zeroed(count, size, runtime);
  if (is_foreign(block)) {
    return original<void*(void*, size_t, size_t)>(runtime, called)(block, count, size);
  }
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    set_error(runtime, kEnomem);
    return nullptr;
  }
  const size_t before = size_of(block);
  void* const moved = reallocate(block, bytes, runtime, called);
  if (moved == nullptr) return nullptr;
  const size_t kept = bytes < before ? bytes : before;
  memset(static_cast<char*>(moved) + kept, 0, size_of(moved) - kept);
  return moved;
}

void* expand(void* block, size_t size, const Runtime& runtime, Function called) {
  if (block == nullptr) {
    report_invalid_argument(runtime);
    return nullptr;
  }
  if (is_foreign(block)) return original<void*(void*, size_t)>(runtime, called)(block, size);
  if (size <= size_of(block)) return block;
  set_error(runtime, kEnomem);
  return nullptr;
}

size_t block_size(void* block, const Runtime& runtime, Function called) {
  if (block == nullptr) {
    report_invalid_argument(runtime);
    return ~size_t(0);
  }
  return __TBB_malloc_safer_msize(block, original<size_t(void*)>(runtime, called));
}

// ---- debug functions ----------------------------------------------------------------------------

void release_dbg(void* block, int type, const Runtime& runtime, Function called) {
  if (block == nullptr || !is_foreign(block)) return scalable_free(block);
  original<void(void*, int)>(runtime, called)(block, type);
}

size_t block_size_dbg(void* block, int type, const Runtime& runtime, Function called) {
  if (block == nullptr || !is_foreign(block)) return block_size(block, runtime, called);
  return original<size_t(void*, int)>(runtime, called)(block, type);
}

void* reallocate_dbg(void* block, size_t size, int type, const char* file, int line,
                     const Runtime& runtime, Function called) {
  if (block == nullptr || !is_foreign(block)) return reallocate(block, size, runtime, called);
  return original<void*(void*, size_t, int, const char*, int)>(runtime, called)(block, size, type,
                                                                                file, line);
}

void* reallocate_zeroed_dbg(void* block, size_t count, size_t size, int type, const char* file,
                            int line, const Runtime& runtime, Function called) {
  if (block == nullptr || !is_foreign(block)) {
    return reallocate_zeroed(block, count, size, runtime, called);
  }
  return original<void*(void*, size_t, size_t, int, const char*, int)>(runtime, called)(
      block, count, size, type, file, line);
}

void* expand_dbg(void* block, size_t size, int type, const char* file, int line,
                 const Runtime& runtime, Function called) {
  if (block == nullptr || !is_foreign(block)) return expand(block, size, runtime, called);
  return original<void*(void*, size_t, int, const char*, int)>(runtime, called)(block, size, type,
                                                                                file, line);
}

// ---- operator new -------------------------------------------------------------------------------

void* new_block(size_t size, const Runtime& runtime, Function called) {
  for (;;) {
    void* const block = scalable_malloc(size);
    if (block != nullptr) [[likely]]
      return block;
    if (!ask_new_handler(runtime, size, true)) break;
  }
  // More than there can be, so that the original throws. It asks the handler once more.
  return original<void*(size_t)>(runtime, called)(kMaxRequest);
}

void* new_aligned_block(size_t size, size_t alignment, const Runtime& runtime, Function called) {
  for (;;) {
    void* const block = scalable_aligned_malloc(size == 0 ? 1 : size, alignment);
    if (block != nullptr) [[likely]]
      return block;
    if (!ask_new_handler(runtime, size, true)) break;
  }
  return original<void*(size_t, size_t)>(runtime, called)(kMaxRequest, alignment);
}

void* new_block_nothrow(size_t size, const void* nothrow, const Runtime& runtime, Function called) {
  void* const block = scalable_malloc(size);
  if (block != nullptr) [[likely]]
    return block;
  return original<void*(size_t, const void*)>(runtime, called)(size, nothrow);
}

void* new_aligned_block_nothrow(size_t size, size_t alignment, const void* nothrow,
                                const Runtime& runtime, Function called) {
  void* const block = scalable_aligned_malloc(size == 0 ? 1 : size, alignment);
  if (block != nullptr) [[likely]]
    return block;
  return original<void*(size_t, size_t, const void*)>(runtime, called)(size, alignment, nothrow);
}

}  // namespace corbel::proxy
