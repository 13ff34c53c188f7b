// SPDX-License-Identifier: Apache-2.0
#include "pools/pool.hpp"

#include <cstdint>
#include <new>

#include "alloc/allocator.hpp"
#include "base/bits.hpp"
#include "base/thread_variable.hpp"

namespace corbel::pools {

namespace {

CORBEL_THREAD_VARIABLE(unsigned, number) = 0;

// Numbers the threads, to spread them over the shards.
unsigned pool_thread_number() {
  static std::atomic<unsigned> threads{0};
  // relaxed: only the number itself matters
  if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

void copy_block(void* to, const void* from, std::size_t bytes) {
  __builtin_memcpy(to, from, bytes);
}

}  // namespace

unsigned Pool::class_for(std::size_t size, std::size_t alignment) const {
  unsigned c = pool_class_of(size);
  if (alignment <= 8) return c;
  if (alignment <= 16) return c == 0 ? 1 : c;
  while (c < kPoolClasses && !pool_class_is_aligned(c)) ++c;
  return c;
}

void* Pool::allocate(std::size_t size, std::size_t alignment) {
  if (size > PTRDIFF_MAX / 4 || alignment > PTRDIFF_MAX / 4) return nullptr;
  for (bool reclaimed = false;;) {
    // (1) acquire: sees the geometry that (2) in make_chunk() publishes
    const std::size_t max_small = max_small_.load(std::memory_order_acquire);
    Need need{kSmall, 0, 0};
    void* block = nullptr;
    unsigned c = kPoolClasses;
    if (size <= max_small && alignment <= 64) c = class_for(size, alignment);
    if (c < kPoolClasses && kPoolClassSizes[c] <= max_small) {
      need.bytes = geometry_.slab_bytes();
      block = allocate_small(c);
    } else {
      block = allocate_large(size, alignment, &need);
    }
    if (block != nullptr) return block;
    if (grow(need) == Growth::kTryAgain) continue;
    if (reclaimed) return nullptr;
    reclaim();
    reclaimed = true;
  }
}

Pool::Shard& Pool::shard() {
  // (3) acquire: sees the shards that (4) publishes
  Shard* more = more_shards_.load(std::memory_order_acquire);
  const unsigned index = pool_thread_number() % kShards;
  Shard& mine = more == nullptr || index == 0 ? first_shard_ : more[index - 1];
  if (mine.lock.try_lock()) return mine;
  if (more == nullptr) return contended_shard(index);
  mine.lock.lock();
  return mine;
}

// Creates the other shards when two threads collide for the first time. Most pools never get here
// and stay small.
Pool::Shard& Pool::contended_shard(unsigned index) {
  constexpr std::size_t bytes = (kShards - 1) * sizeof(Shard);
  if (void* memory = alloc::allocate_aligned(bytes, kCacheLine)) {
    Shard* more = static_cast<Shard*>(memory);
    for (unsigned i = 0; i + 1 < kShards; ++i) ::new (&more[i]) Shard;
    Shard* none = nullptr;
    // (4) acq_rel: publishes the shards to (3) and (6). (5) acquire on failure: sees the shards of
    // the other thread's (4)
    if (!more_shards_.compare_exchange_strong(none, more, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
      alloc::deallocate(memory);
      more = none;
    }
    if (index != 0) {
      more[index - 1].lock.lock();
      return more[index - 1];
    }
  }
  first_shard_.lock.lock();
  return first_shard_;
}

void* Pool::allocate_small(unsigned c) {
  Shard& mine = shard();
  BlockList& list = mine.lists[c];
  bool any = list.head != nullptr;
  if (!any) {
    sync::LockGuard guard(lock_);
    any =
        slabs_.take(c, pool_batch(c), list) || (add_slab(c) && slabs_.take(c, pool_batch(c), list));
  }
  void* block = any ? list.pop() : nullptr;
  mine.lock.unlock();
  return block;
}

// Requires: the caller holds the pool's lock.
bool Pool::add_slab(unsigned c) {
  const std::size_t bytes = geometry_.slab_bytes();
  PoolSpan* span = zone(kSmall).spans.allocate(bytes, bytes);
  if (span == nullptr) return false;
  if (zone(kSmall).spare == span->chunk) zone(kSmall).spare = nullptr;
  slabs_.add(span, c);
  return true;
}

void* Pool::allocate_large(std::size_t size, std::size_t alignment, Need* need) {
  sync::LockGuard guard(lock_);
  const std::size_t bytes = geometry_.span_bytes(size);
  if (alignment < geometry_.page) alignment = geometry_.page;
  *need = Need{kLarge, bytes, alignment};
  Zone& from = zone(kLarge);
  PoolSpan* span = from.spans.allocate(bytes, alignment);
  if (span == nullptr) return nullptr;
  if (from.spare == span->chunk) from.spare = nullptr;
  span->state = PoolSpan::kLarge;
  span->requested = size;
  return span->block();
}

void Pool::check_owner(const char* function, const PoolSpan* span, const void* block) const {
  if (span->pool != this) alloc::die(function, "not a block of this pool", block);
}

void Pool::deallocate(void* block) {
  if (geometry_.is_large(block)) {
    deallocate_large(Geometry::large_span(block));
  } else {
    deallocate_small(geometry_.slab_of(block), block);
  }
}

void Pool::deallocate_small(PoolSlab* slab, void* block) {
  check_owner("pool_free", slab, block);
  const unsigned c = slab->size_class;
  PoolChunk* unused = nullptr;
  Shard& mine = shard();
  BlockList& list = mine.lists[c];
  list.push(block);
  if (list.count > 2 * pool_batch(c)) give_to_slabs(list, pool_batch(c), &unused);
  mine.lock.unlock();
  free_chunks(unused);
}

// Gives all but `keep` blocks of the list back to their slabs. Requires: the caller holds the lock
// of the list's shard.
void Pool::give_to_slabs(BlockList& list, unsigned keep, PoolChunk** unused) {
  sync::LockGuard guard(lock_);
  while (list.count > keep) {
    void* block = list.pop();
    PoolSlab* empty = slabs_.give(geometry_.slab_of(block), block);
    if (empty != nullptr) release_span(empty, unused);
  }
}

void Pool::deallocate_large(PoolSpan* span) {
  check_owner("pool_free", span, span->block());
  PoolChunk* unused = nullptr;
  {
    sync::LockGuard guard(lock_);
    if (span->state != PoolSpan::kLarge) {
      alloc::die("pool_free", "not a block, or freed twice", span->block());
    }
    release_span(span, &unused);
  }
  free_chunks(unused);
}

// Turns the free blocks that the shards hold, and the empty slabs, into free spans.
void Pool::reclaim() {
  PoolChunk* unused = nullptr;
  // (6) acquire: sees the shards that (4) publishes
  Shard* more = more_shards_.load(std::memory_order_acquire);
  const unsigned shards = more == nullptr ? 1 : kShards;
  for (unsigned i = 0; i < shards; ++i) {
    Shard& each = i == 0 ? first_shard_ : more[i - 1];
    sync::LockGuard guard(each.lock);
    for (BlockList& list : each.lists) {
      if (list.count != 0) give_to_slabs(list, 0, &unused);
    }
  }
  {
    sync::LockGuard guard(lock_);
    while (PoolSlab* empty = slabs_.take_empty()) release_span(empty, &unused);
  }
  free_chunks(unused);
}

std::size_t Pool::usable_size(const void* block) const {
  if (geometry_.is_large(block)) {
    const PoolSpan* span = Geometry::large_span(block);
    check_owner("pool_msize", span, block);
    return span->requested;
  }
  const PoolSlab* slab = geometry_.slab_of(block);
  check_owner("pool_msize", slab, block);
  return kPoolClassSizes[slab->size_class];
}

bool Pool::resize_large(PoolSpan* span, std::size_t size) {
  if (size > PTRDIFF_MAX / 4) return false;
  sync::LockGuard guard(lock_);
  if (!zone(kLarge).spans.resize(span, geometry_.span_bytes(size))) return false;
  span->requested = size;
  return true;
}

void* Pool::reallocate(void* block, std::size_t size, std::size_t alignment) {
  const std::size_t old_size = usable_size(block);
  if ((address_of(block) & (alignment - 1)) == 0) {
    if (geometry_.is_large(block)) {
      // relaxed: the allocation of the block has acquired the geometry (1)
      const bool stays = size > max_small_.load(std::memory_order_relaxed);
      if (stays && resize_large(Geometry::large_span(block), size)) return block;
    } else if (size <= old_size && size > old_size / 2) {
      return block;
    }
  }
  void* moved = allocate(size, alignment);
  if (moved == nullptr) return nullptr;
  copy_block(moved, block, old_size < size ? old_size : size);
  deallocate(block);
  return moved;
}

}  // namespace corbel::pools
