// SPDX-License-Identifier: Apache-2.0
// The replacements that are called: for each library and function one, of a few instructions.
#include "proxy/windows/functions.hpp"

#include "proxy/windows/replacements.hpp"
#include "proxy/windows/runtime.hpp"

namespace corbel::proxy {

const FunctionInfo kFunctionInfo[kFunctionCount] = {
#define CORBEL_FUNCTION(constant, name, replacement, family) {name, Family::family},
#include "proxy/windows/functions.inc"
};

constinit Runtime runtimes[kMaxRuntimes] = {};

namespace {

template <unsigned kNumber, Function kCalled>
struct Replacement {
  static constexpr const Runtime& kRuntime = runtimes[kNumber];

  static void* malloc_(size_t size) { return allocate(size, kRuntime); }
  static void* calloc_(size_t count, size_t size) { return allocate_zeroed(count, size, kRuntime); }
  static void* realloc_(void* block, size_t size) {
    return reallocate(block, size, kRuntime, kCalled);
  }
  static void free_(void* block) { release(block, kRuntime, kCalled); }
  static size_t msize_(void* block) { return block_size(block, kRuntime, kCalled); }
  static void* expand_(void* block, size_t size) { return expand(block, size, kRuntime, kCalled); }
  static void* recalloc_(void* block, size_t count, size_t size) {
    return reallocate_zeroed(block, count, size, kRuntime, kCalled);
  }

  static void* aligned_malloc_(size_t size, size_t alignment) {
    return allocate_aligned(size, alignment, 0, kRuntime);
  }
  static void* aligned_realloc_(void* block, size_t size, size_t alignment) {
    return reallocate_aligned(block, size, alignment, 0, kRuntime);
  }
  static void* aligned_recalloc_(void* block, size_t count, size_t size, size_t alignment) {
    return reallocate_zeroed_aligned(block, count, size, alignment, 0, kRuntime);
  }
  static void aligned_free_(void* block) { release_aligned(block, kRuntime, kCalled); }
  static size_t aligned_msize_(void* block, size_t alignment, size_t offset) {
    return aligned_block_size(block, alignment, offset, kRuntime, kCalled);
  }
  static void* offset_malloc_(size_t size, size_t alignment, size_t offset) {
    return allocate_aligned(size, alignment, offset, kRuntime);
  }
  static void* offset_realloc_(void* block, size_t size, size_t alignment, size_t offset) {
    return reallocate_aligned(block, size, alignment, offset, kRuntime);
  }
  static void* offset_recalloc_(void* block, size_t count, size_t size, size_t alignment,
                                size_t offset) {
    return reallocate_zeroed_aligned(block, count, size, alignment, offset, kRuntime);
  }

  static void free_dbg_(void* block, int type) { release_dbg(block, type, kRuntime, kCalled); }
  static size_t msize_dbg_(void* block, int type) {
    return block_size_dbg(block, type, kRuntime, kCalled);
  }
  static void* realloc_dbg_(void* block, size_t size, int type, const char* file, int line) {
    return reallocate_dbg(block, size, type, file, line, kRuntime, kCalled);
  }
  static void* recalloc_dbg_(void* block, size_t count, size_t size, int type, const char* file,
                             int line) {
    return reallocate_zeroed_dbg(block, count, size, type, file, line, kRuntime, kCalled);
  }
  static void* expand_dbg_(void* block, size_t size, int type, const char* file, int line) {
    return expand_dbg(block, size, type, file, line, kRuntime, kCalled);
  }

  static void* new_(size_t size) { return new_block(size, kRuntime, kCalled); }
  static void* new_nothrow_(size_t size, const void* nothrow) {
    return new_block_nothrow(size, nothrow, kRuntime, kCalled);
  }
  static void* new_aligned_(size_t size, size_t alignment) {
    return new_aligned_block(size, alignment, kRuntime, kCalled);
  }
  static void* new_aligned_nothrow_(size_t size, size_t alignment, const void* nothrow) {
    return new_aligned_block_nothrow(size, alignment, nothrow, kRuntime, kCalled);
  }
};

template <unsigned kNumber>
const void* const kReplacements[kFunctionCount] = {
#define CORBEL_FUNCTION(constant, name, replacement, family) \
  reinterpret_cast<const void*>(&Replacement<kNumber, constant>::replacement),
#include "proxy/windows/functions.inc"
};

const void* const* const kAllReplacements[kMaxRuntimes] = {
    kReplacements<0>, kReplacements<1>, kReplacements<2>,  kReplacements<3>,
    kReplacements<4>, kReplacements<5>, kReplacements<6>,  kReplacements<7>,
    kReplacements<8>, kReplacements<9>, kReplacements<10>, kReplacements<11>,
};

}  // namespace

const void* const* replacements_for(unsigned number) { return kAllReplacements[number]; }

}  // namespace corbel::proxy
