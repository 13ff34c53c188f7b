// SPDX-License-Identifier: Apache-2.0
// Memory pools over memory that the program supplies: the rml::pool_* functions with the binary
// interface of the TBB allocator. Most programs want the classes of <corbel/memory_pool.hpp>.
//
// A pool takes raw memory through its policy's pAlloc, cuts it into blocks, and gives it back
// through pFree. All functions on one pool may be called from several threads at once, except
// pool_reset and pool_destroy, which need the pool to themselves. The callbacks are called with no
// lock held that any other pool uses, from whichever thread needs memory, and must not use the pool
// they serve. None of the functions throws. Sizes and alignments are in bytes; a block is aligned
// to 16, or to 8 where its size is <= 8.
#ifndef CORBEL_RAW_POOL_HPP
#define CORBEL_RAW_POOL_HPP

#include <cstddef>
#include <cstdint>

#include "malloc.h"

namespace rml {

class MemoryPool;  // opaque

// Gives raw memory to the pool `pool_id` (the number passed to pool_create_v1): at least `bytes`
// bytes, a multiple of the policy's granularity. It may raise `bytes` to what it really gives.
// nullptr when there is none. An address that is not page-aligned is accepted.
typedef void* (*rawAllocType)(std::intptr_t pool_id, std::size_t& bytes);

// Takes back exactly what one call of rawAllocType gave. Returns 0 if it could, else an error.
typedef int (*rawFreeType)(std::intptr_t pool_id, void* raw_ptr, std::size_t raw_bytes);

// How a pool gets and keeps its raw memory.
struct MemPoolPolicy {
  enum { TBBMALLOC_POOL_VERSION = 1 };

  rawAllocType pAlloc;      // required
  rawFreeType pFree;        // required unless fixedPool
  std::size_t granularity;  // sizes asked of pAlloc are multiples of this; 0: 64 KiB
  int version;              // TBBMALLOC_POOL_VERSION
  unsigned fixedPool : 1,   // pAlloc is called once only, pFree never; the size that pAlloc
                            // stores in `bytes` is all the pool has
      keepAllMemory : 1,    // raw memory is given back by pool_destroy only
      reserved : 30;        // 0

  MemPoolPolicy(rawAllocType alloc, rawFreeType free, std::size_t granularity_bytes = 0,
                bool fixed_pool = false, bool keep_all_memory = false)
      : pAlloc(alloc),
        pFree(free),
        granularity(granularity_bytes),
        version(TBBMALLOC_POOL_VERSION),
        fixedPool(fixed_pool),
        keepAllMemory(keep_all_memory),
        reserved(0) {}
};

enum MemPoolError {
  POOL_OK = TBBMALLOC_OK,                      // the pool is there
  INVALID_POLICY = TBBMALLOC_INVALID_PARAM,    // see pool_create_v1
  UNSUPPORTED_POLICY = TBBMALLOC_UNSUPPORTED,  // see pool_create_v1
  NO_MEMORY = TBBMALLOC_NO_MEMORY,             // none left for the pool's own tables
  NO_EFFECT = TBBMALLOC_NO_EFFECT              // never returned; part of the interface
};

// Makes a pool and stores it in `*pool`. `pool_id` is passed on to the callbacks. No raw memory is
// asked for before the first block. On error `*pool` is nullptr and the result is INVALID_POLICY
// (no pAlloc; no pFree and not fixedPool; a version below 1), UNSUPPORTED_POLICY (a version above
// TBBMALLOC_POOL_VERSION; reserved bits set) or NO_MEMORY.
CORBEL_API MemPoolError pool_create_v1(std::intptr_t pool_id, const MemPoolPolicy* policy,
                                       MemoryPool** pool);

// The older form, which reads pAlloc, pFree and granularity only. nullptr on error.
CORBEL_API MemoryPool* pool_create(std::intptr_t pool_id, const MemPoolPolicy* policy);

// Gives all raw memory back through pFree (unless fixedPool) and ends the pool; every block of it
// becomes invalid. False for nullptr, and when a pFree reported an error (the pool is gone all the
// same).
CORBEL_API bool pool_destroy(MemoryPool* memPool);

// Frees all blocks at once and keeps the raw memory for new ones. False for nullptr.
CORBEL_API bool pool_reset(MemoryPool* memPool);

// As malloc. Size 0 gives a unique block. nullptr when the pool cannot get memory.
CORBEL_API void* pool_malloc(MemoryPool* memPool, std::size_t size);

// As realloc: (nullptr, n) allocates; (object, 0) frees and returns nullptr; nullptr on failure
// with the old block untouched.
CORBEL_API void* pool_realloc(MemoryPool* memPool, void* object, std::size_t size);

// A block aligned to `alignment`. nullptr when that is not a power of two, when `size` is 0, or
// when the pool cannot get memory.
CORBEL_API void* pool_aligned_malloc(MemoryPool* mPool, std::size_t size, std::size_t alignment);

// As pool_realloc with the result aligned to `alignment`; nullptr when that is not a power of two.
CORBEL_API void* pool_aligned_realloc(MemoryPool* mPool, void* ptr, std::size_t size,
                                      std::size_t alignment);

// Frees a block. False, and nothing done, when the pool or the block is nullptr.
CORBEL_API bool pool_free(MemoryPool* memPool, void* object);

// The pool that a live block of any pool belongs to; nullptr for nullptr.
CORBEL_API MemoryPool* pool_identify(void* object);

// The bytes the program may use in a live block of the pool. 0 with errno EINVAL for nullptr.
CORBEL_API std::size_t pool_msize(MemoryPool* memPool, void* object);

}  // namespace rml

#endif  // CORBEL_RAW_POOL_HPP
