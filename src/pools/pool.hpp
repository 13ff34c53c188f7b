// SPDX-License-Identifier: Apache-2.0
// A memory pool (rml::MemoryPool). Small blocks come from sharded free lists over slabs, large
// blocks from a heap of spans. The policy's callbacks supply the raw memory, one chunk a call.
//
// There are two kinds of locks, taken in this order: a shard's lock guards its free lists, the
// pool's lock guards everything else. Neither is held while a callback runs, so that a callback may
// use another pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/raw_pool.hpp>

#include "pools/pool_size_class.hpp"
#include "pools/pool_slabs.hpp"
#include "pools/pool_span.hpp"
#include "pools/pool_span_heap.hpp"
#include "sync/lock.hpp"

namespace corbel::pools {

// Lock ranks. Above those of the allocator, which never calls a pool. A pool calls the allocator
// only with no pool lock held.
namespace pool_rank {
inline constexpr int kShard = 24;
inline constexpr int kPool = 25;
inline constexpr int kFixedPools = 26;
}  // namespace pool_rank

class Pool {
 public:
  // Creates a pool. It allocates its own data from the process's heap; it does not call pAlloc yet.
  static rml::MemPoolError create(std::intptr_t id, const rml::MemPoolPolicy& policy, Pool** pool);
  // Gives the raw memory back and destroys the pool. Requires: no other thread uses it. Returns
  // false when a call of pFree failed.
  static bool destroy(Pool* pool);

  // Frees all blocks and keeps the raw memory. Requires: no other thread uses the pool.
  void reset();

  // Returns nullptr when there is no memory. Requires: `alignment` is a power of two.
  void* allocate(std::size_t size, std::size_t alignment);

  // Frees a live block of this pool. Ends the process if it finds that `block` is not one.
  void deallocate(void* block);

  // Changes the size of a live block of this pool, moving it if needed. Returns nullptr when there
  // is no memory: then the block is unchanged.
  void* reallocate(void* block, std::size_t size, std::size_t alignment);

  // How many bytes of a live block of this pool the program may use.
  std::size_t usable_size(const void* block) const;

  // The pool that a live block of any pool belongs to.
  static Pool* of(const void* block);

 private:
  // Memory of large blocks is not reused for small ones, nor vice versa; programs rely on that.
  // Each kind has chunks of its own, except in a fixed pool, whose only chunk is kLarge.
  enum Kind { kSmall, kLarge, kKinds };
  static constexpr unsigned kShards = 8;

  // The memory for one kind of blocks.
  struct Zone {
    PoolSpanHeap spans;
    PoolChunk* chunks = nullptr;
    PoolChunk* spare = nullptr;    // an unused chunk that is kept for the next allocation
    std::size_t next_request = 0;  // bytes to request from pAlloc; grows with the zone
  };
  // The free lists that some of the threads share.
  struct Shard {
    sync::Lock lock{pool_rank::kShard};
    BlockList lists[kPoolClasses];
  };
  // The free span that an allocation needed but did not find.
  struct Need {
    Kind kind;
    std::size_t bytes;
    std::size_t alignment;
  };
  enum class Growth { kTryAgain, kRefused };

  Pool(std::intptr_t id, const rml::MemPoolPolicy& policy);

  // pool.cpp: blocks
  unsigned class_for(std::size_t size, std::size_t alignment) const;
  void* allocate_small(unsigned c);
  void* allocate_large(std::size_t size, std::size_t alignment, Need* need);
  bool add_slab(unsigned c);
  void deallocate_small(PoolSlab* slab, void* block);
  void deallocate_large(PoolSpan* span);
  bool resize_large(PoolSpan* span, std::size_t size);
  void give_to_slabs(BlockList& list, unsigned keep, PoolChunk** unused);
  void reclaim();
  Shard& shard();
  Shard& contended_shard(unsigned index);
  void check_owner(const char* function, const PoolSpan* span, const void* block) const;

  // pool_grow.cpp: raw memory
  Zone& zone(Kind kind) { return zones_[fixed_ ? kLarge : kind]; }
  Zone& zone_of(const PoolSpan* span) {
    return zone(span->state == PoolSpan::kSlab ? kSmall : kLarge);
  }
  Growth grow(const Need& need);
  bool convert_untouched(const Need& need);
  Growth request(const Need& need);
  PoolChunk* make_chunk(void* raw, std::size_t bytes, Kind kind);
  void lay_out(PoolChunk* chunk, Kind kind);
  void add(PoolChunk* chunk, Zone& zone);
  void remove(PoolChunk* chunk, Zone& zone);
  void release_span(PoolSpan* span, PoolChunk** unused);
  void free_chunks(PoolChunk* chunks);
  std::size_t rounded_request(std::size_t bytes) const;
  void register_fixed();
  void unregister_fixed();

  const std::intptr_t id_;
  const rml::rawAllocType raw_alloc_;
  const rml::rawFreeType raw_free_;
  const std::size_t granularity_;
  const bool fixed_;
  const bool keep_all_;

  Geometry geometry_;
  std::atomic<std::size_t> max_small_;  // 0 in a fixed pool until its memory is known

  sync::Lock lock_{pool_rank::kPool};
  PoolSlabs slabs_;
  Zone zones_[kKinds];
  bool requested_ = false;                 // pAlloc has been called; a fixed pool calls it once
  bool growing_ = false;                   // a thread is calling pAlloc
  std::atomic<std::uint32_t> growths_{0};  // calls of pAlloc that have ended; threads wait on it
  bool has_untouched_ = false;             // there may be chunks with `untouched` set

  Pool* next_fixed_ = nullptr;  // in the list of the fixed pools with a small page
  bool registered_ = false;

  Shard first_shard_;
  std::atomic<Shard*> more_shards_{nullptr};  // kShards - 1, once two threads have collided
};

}  // namespace corbel::pools
