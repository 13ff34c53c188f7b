// SPDX-License-Identifier: Apache-2.0
// Memory pools in memory that the program supplies: the rml::pool_* functions with the binary
// interface of the TBB allocator. Most programs use the classes of <corbel/memory_pool.hpp>
// instead.
//
// A pool takes raw memory through its policy's pAlloc, cuts it into blocks, and returns it through
// pFree. Several threads may call functions on one pool at the same time, except that no other
// function may run on it during pool_reset or pool_destroy. The thread that needs memory calls the
// callbacks, holding no lock that another pool uses; they must not use the pool they serve. No
// function throws. Sizes and alignments are in bytes; a block is aligned to 16, or to 8 if its size
// is <= 8.
#ifndef CORBEL_RAW_POOL_HPP
#define CORBEL_RAW_POOL_HPP

#include <cstddef>
#include <cstdint>

#include "malloc.h"

namespace rml {

class MemoryPool;  // opaque

// Returns raw memory for the pool `pool_id` (the number passed to pool_create_v1): at least `bytes`
// bytes, a multiple of the policy's granularity. It may raise `bytes` to the size it returns.
// Returns nullptr if there is no memory. The address need not be page-aligned.
typedef void* (*rawAllocType)(std::intptr_t pool_id, std::size_t& bytes);

// Frees exactly the memory that one call of rawAllocType returned. Returns 0, or nonzero on error.
typedef int (*rawFreeType)(std::intptr_t pool_id, void* raw_ptr, std::size_t raw_bytes);

// How a pool gets and keeps its raw memory.
struct MemPoolPolicy {
  enum { TBBMALLOC_POOL_VERSION = 1 };

  rawAllocType pAlloc;      // required
  rawFreeType pFree;        // required unless fixedPool
  std::size_t granularity;  // sizes passed to pAlloc are multiples of this; 0: 64 KiB
  int version;              // TBBMALLOC_POOL_VERSION
  unsigned fixedPool : 1,   // pAlloc is called only once and pFree never: the size that pAlloc
                            // stores in `bytes` is the size of the pool
      keepAllMemory : 1,    // only pool_destroy frees raw memory
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
  POOL_OK = TBBMALLOC_OK,                      // the pool was made
  INVALID_POLICY = TBBMALLOC_INVALID_PARAM,    // see pool_create_v1
  UNSUPPORTED_POLICY = TBBMALLOC_UNSUPPORTED,  // see pool_create_v1
  NO_MEMORY = TBBMALLOC_NO_MEMORY,             // not enough memory for the pool's own tables
  NO_EFFECT = TBBMALLOC_NO_EFFECT              // never returned; part of the interface
};

// Makes a pool and stores it in `*pool`. `pool_id` is passed to the callbacks. The first allocation
// is the first to call pAlloc. On error stores nullptr in `*pool` and returns INVALID_POLICY (no
// pAlloc; no pFree and not fixedPool; a version below 1), UNSUPPORTED_POLICY (a version above
// TBBMALLOC_POOL_VERSION; reserved bits set) or NO_MEMORY.
CORBEL_API MemPoolError pool_create_v1(std::intptr_t pool_id, const MemPoolPolicy* policy,
                                       MemoryPool** pool);

// The older form, which reads only pAlloc, pFree and granularity. Returns nullptr on error.
CORBEL_API MemoryPool* pool_create(std::intptr_t pool_id, const MemPoolPolicy* policy);

// Frees all raw memory through pFree (unless fixedPool) and destroys the pool; all its blocks
// become invalid. Returns false for nullptr, and if a pFree reported an error; the pool is
// destroyed even then.
CORBEL_API bool pool_destroy(MemoryPool* memPool);

// Frees all blocks at once and keeps the raw memory for new ones. Returns false for nullptr.
CORBEL_API bool pool_reset(MemoryPool* memPool);

// malloc (C11 7.22.3.4) from the pool. Size 0 returns a unique block. Returns nullptr if the pool
// cannot get memory.
CORBEL_API void* pool_malloc(MemoryPool* memPool, std::size_t size);

// realloc (C11 7.22.3.5) in the pool: (nullptr, n) allocates; (object, 0) frees and returns
// nullptr. On failure returns nullptr and leaves the old block unchanged.
CORBEL_API void* pool_realloc(MemoryPool* memPool, void* object, std::size_t size);

// Returns a block aligned to `alignment`. Returns nullptr if that is not a power of two, if `size`
// is 0, or if the pool cannot get memory.
CORBEL_API void* pool_aligned_malloc(MemoryPool* mPool, std::size_t size, std::size_t alignment);

// Like pool_realloc, with a result aligned to `alignment`. Returns nullptr also if that is not a
// power of two; the old block is unchanged then.
CORBEL_API void* pool_aligned_realloc(MemoryPool* mPool, void* ptr, std::size_t size,
                                      std::size_t alignment);

// Frees a block of the pool. Returns false, having done nothing, if the pool or the block is
// nullptr.
CORBEL_API bool pool_free(MemoryPool* memPool, void* object);

// Returns the pool that a live block of any pool belongs to; nullptr for nullptr.
CORBEL_API MemoryPool* pool_identify(void* object);

// Returns the number of bytes the program may use in a live block of the pool. Returns 0 and sets
// errno to EINVAL for nullptr.
CORBEL_API std::size_t pool_msize(MemoryPool* memPool, void* object);

}  // namespace rml

#endif  // CORBEL_RAW_POOL_HPP
