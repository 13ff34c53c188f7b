// SPDX-License-Identifier: Apache-2.0
// A memory pool (rml::MemoryPool): small blocks from sharded free lists over slabs, large blocks
// from a heap of spans, over raw memory that the policy's callbacks supply.
//
// Two locks, taken in this order: a shard's, which guards its free lists, and the pool's, which
// guards all else. Neither is held while a callback runs, so that a callback may use another pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/raw_pool.hpp>

#include "compat/pool_size_class.hpp"
#include "compat/pool_slabs.hpp"
#include "compat/pool_span.hpp"
#include "compat/pool_span_heap.hpp"
#include "sync/lock.hpp"

namespace corbel::compat {

// Above the ranks of the allocator, which never calls a pool.
namespace pool_rank {
inline constexpr int kShard = 24;
inline constexpr int kPool = 25;
inline constexpr int kFixedPools = 26;
}  // namespace pool_rank

class Pool {
 public:
  static rml::MemPoolError create(std::intptr_t id, const rml::MemPoolPolicy& policy, Pool** pool);
  // Gives the raw memory back and ends the pool. False when a pFree failed.
  static bool destroy(Pool* pool);

  // All blocks become free, the raw memory stays. No other thread uses the pool.
  void reset();

  // nullptr when there is no memory. `alignment` is a power of two.
  void* allocate(std::size_t size, std::size_t alignment);
  void deallocate(void* block);
  void* reallocate(void* block, std::size_t size, std::size_t alignment);
  std::size_t usable_size(const void* block) const;

  // The pool of a live block of any pool.
  static Pool* of(const void* block);

 private:
  // Memory of large blocks is not reused for small ones, and vice versa: programs rely on the
  // former. Each kind has raw memory of its own, except in a fixed pool, where all is kLarge.
  enum Kind { kSmall, kLarge, kKinds };
  static constexpr unsigned kShards = 8;

  struct Zone {
    PoolSpanHeap spans;
    Region* regions = nullptr;
    Region* spare = nullptr;       // the one unused region that is kept though it could go
    std::size_t next_request = 0;  // bytes to ask of pAlloc; grows with the zone
  };
  struct Shard {
    sync::Lock lock{pool_rank::kShard};
    BlockList lists[kPoolClasses];
  };
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
  void* try_small(unsigned c);
  bool add_slab(unsigned c);
  void deallocate_small(Slab* slab, void* block);
  void deallocate_large(Span* span);
  bool resize_large(Span* span, std::size_t size);
  void give_to_slabs(BlockList& list, unsigned keep, Region** unused);
  void reclaim();
  Shard& shard();
  Shard& contended_shard(unsigned index);
  void check_owner(const char* function, const Span* span, const void* block) const;

  // pool_grow.cpp: raw memory
  Zone& zone(Kind kind) { return zones_[fixed_ ? kLarge : kind]; }
  Zone& zone_of(const Span* span) { return zone(span->state == Span::kSlab ? kSmall : kLarge); }
  Growth grow(const Need& need);
  bool convert_untouched(const Need& need);
  Growth request(const Need& need);
  Region* adopt(void* raw, std::size_t bytes, Kind kind);
  void lay_out(Region* region, Kind kind);
  void add(Region* region, Zone& zone);
  void remove(Region* region, Zone& zone);
  void release_span(Span* span, Region** unused);
  void free_regions(Region* regions);
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
  bool asked_ = false;    // of a fixed pool: pAlloc has been called
  bool growing_ = false;  // a thread is calling pAlloc
  std::atomic<std::uint32_t> growths_{0};
  bool has_untouched_ = false;

  Pool* next_fixed_ = nullptr;  // list of the fixed pools with a small page
  bool registered_ = false;

  Shard first_shard_;
  std::atomic<Shard*> more_shards_{nullptr};  // kShards - 1 of them, once threads have collided
};

}  // namespace corbel::compat
