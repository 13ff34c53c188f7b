// SPDX-License-Identifier: Apache-2.0
// The raw memory of a pool: requesting it and giving it back. Also creates and destroys pools.
#include <new>

#include "alloc/allocator.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"
#include "pools/pool.hpp"

namespace corbel::pools {

namespace {

constexpr std::size_t kDefaultGranularity = 64 * 1024;
constexpr std::size_t kFirstRequest = 64 * 1024;
constexpr std::size_t kMaxRequest = 4 * 1024 * 1024;
constexpr std::size_t kFixedRequest = 2 * 1024 * 1024;

// The fixed pools with a page of less than 4 KiB. The address of their blocks alone does not lead
// to the pool, so Pool::of() searches this list.
constinit sync::Lock fixed_pools_lock{pool_rank::kFixedPools};
constinit Pool* fixed_pools = nullptr;
constinit std::atomic<unsigned> fixed_pool_count{0};

std::uintptr_t end_of(const PoolChunk& chunk) { return address_of(chunk.raw) + chunk.raw_bytes; }

}  // namespace

Pool::Pool(std::intptr_t id, const rml::MemPoolPolicy& policy)
    : id_(id),
      raw_alloc_(policy.pAlloc),
      raw_free_(policy.pFree),
      granularity_(policy.granularity == 0 ? kDefaultGranularity : policy.granularity),
      fixed_(policy.fixedPool != 0),
      keep_all_(policy.keepAllMemory != 0),
      max_small_(fixed_ ? 0 : kPoolMaxSmall) {
  for (Zone& each : zones_) each.next_request = kFirstRequest;
}

rml::MemPoolError Pool::create(std::intptr_t id, const rml::MemPoolPolicy& policy, Pool** pool) {
  void* memory = alloc::allocate_aligned(sizeof(Pool), kCacheLine);
  if (memory == nullptr) return rml::NO_MEMORY;
  *pool = ::new (memory) Pool(id, policy);
  return rml::POOL_OK;
}

bool Pool::destroy(Pool* pool) {
  pool->unregister_fixed();
  bool all_freed = true;
  for (Zone& each : pool->zones_) {
    for (PoolChunk* chunk = each.chunks; chunk != nullptr && pool->raw_free_ != nullptr;) {
      PoolChunk* next = chunk->next;
      all_freed &= pool->raw_free_(pool->id_, chunk->raw, chunk->raw_bytes) == 0;
      chunk = next;
    }
  }
  // relaxed: no other thread uses the pool
  alloc::deallocate(pool->more_shards_.load(std::memory_order_relaxed));
  pool->~Pool();
  alloc::deallocate(pool);
  return all_freed;
}

void Pool::reset() {
  Shard* more = more_shards_.load(std::memory_order_relaxed);  // relaxed: no other thread is here
  for (unsigned i = 0; i < (more == nullptr ? 1 : kShards); ++i) {
    Shard& each = i == 0 ? first_shard_ : more[i - 1];
    sync::LockGuard guard(each.lock);
    for (BlockList& list : each.lists) list = BlockList();
  }
  sync::LockGuard guard(lock_);
  slabs_.clear();
  for (Zone& each : zones_) {
    each.spans.clear();
    each.spare = nullptr;
    for (PoolChunk* chunk = each.chunks; chunk != nullptr; chunk = chunk->next) {
      each.spans.add_chunk(this, chunk);
      chunk->untouched = true;
    }
  }
  has_untouched_ = !fixed_;
}

std::size_t Pool::rounded_request(std::size_t bytes) const {
  const std::size_t granules = divide_up(bytes, granularity_);
  std::size_t result = 0;
  return __builtin_mul_overflow(granules, granularity_, &result) ? 0 : result;
}

// Only one thread at a time requests raw memory. The others wait for it and try again, because a
// new chunk usually suffices for them too.
Pool::Growth Pool::grow(const Need& need) {
  lock_.lock();
  if (convert_untouched(need)) {
    lock_.unlock();
    return Growth::kTryAgain;
  }
  if (growing_) {
    // relaxed: growths_ changes under the lock, which is held
    const std::uint32_t seen = growths_.load(std::memory_order_relaxed);
    lock_.unlock();
    // relaxed: only the count is read; the lock orders what it stands for
    while (growths_.load(std::memory_order_relaxed) == seen) os::wait(growths_, seen);
    os::wake_one(growths_);  // wake chaining: the next waiting thread
    return Growth::kTryAgain;
  }
  if (fixed_ && requested_) {
    lock_.unlock();
    return Growth::kRefused;
  }
  growing_ = true;
  requested_ = true;
  lock_.unlock();
  const Growth result = request(need);
  lock_.lock();
  growing_ = false;
  growths_.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
  lock_.unlock();
  os::wake_one(growths_);
  return result;
}

// Moves a chunk that is untouched since a reset from the other zone to the zone that needs memory.
// That reuses no memory of a freed block for the other kind, because the chunk has had no blocks
// since the reset. Returns false if there is no such chunk. Requires: the caller holds the pool's
// lock.
bool Pool::convert_untouched(const Need& need) {
  if (!has_untouched_) return false;
  const Kind other = need.kind == kSmall ? kLarge : kSmall;
  for (PoolChunk* chunk = zones_[other].chunks; chunk != nullptr; chunk = chunk->next) {
    const std::size_t slack = need.alignment + geometry_.slab_bytes() + 2 * kSpanHeader;
    if (!chunk->untouched || chunk->raw_bytes < need.bytes + slack + sizeof(PoolChunk)) continue;
    zones_[other].spans.remove_chunk(chunk);
    remove(chunk, zones_[other]);
    lay_out(chunk, need.kind);
    add(chunk, zones_[need.kind]);
    return true;
  }
  return false;
}

// Calls pAlloc, without a lock held. Requests more than needed if it can, to call less often.
Pool::Growth Pool::request(const Need& need) {
  const std::size_t slack = sizeof(PoolChunk) + kSpanHeader * 2 + kPoolClassSizes[1] +
                            (need.kind == kSmall ? geometry_.slab_bytes() : need.alignment);
  const std::size_t min = rounded_request(need.bytes + slack);
  // Only the thread that grows the pool changes next_request.
  std::size_t& next_request = zone(need.kind).next_request;
  std::size_t wanted = rounded_request(next_request);
  if (wanted < min || need.bytes > next_request / 2) wanted = min;
  if (fixed_) wanted = rounded_request(kFixedRequest);
  if (wanted == 0) return Growth::kRefused;

  std::size_t bytes = wanted;
  void* raw = raw_alloc_(id_, bytes);
  if (raw == nullptr && !fixed_ && min != 0 && min < wanted) {
    bytes = min;
    raw = raw_alloc_(id_, bytes);
  }
  if (raw == nullptr) return Growth::kRefused;
  if (bytes >= wanted && next_request < kMaxRequest) next_request *= 2;

  PoolChunk* chunk = make_chunk(raw, bytes, need.kind);
  if (chunk == nullptr) {
    if (!fixed_) raw_free_(id_, raw, bytes);
    return Growth::kRefused;
  }
  // pAlloc may supply less memory than requested: find out whether it suffices.
  if (fixed_ || bytes >= min) return Growth::kTryAgain;
  sync::LockGuard guard(lock_);
  Zone& to = zone(need.kind);
  PoolSpan* span = to.spans.allocate(need.bytes, need.kind == kSmall ? need.bytes : need.alignment);
  if (span == nullptr) return Growth::kRefused;
  to.spans.release(span);
  return Growth::kTryAgain;
}

// Makes a chunk of the raw memory and adds it to its zone. Returns nullptr when the memory is too
// small for any block.
PoolChunk* Pool::make_chunk(void* raw, std::size_t bytes, Kind kind) {
  const std::uintptr_t address = align_up(address_of(raw), alignof(PoolChunk));
  if (bytes < sizeof(PoolChunk) + 4 * kSpanHeader) return nullptr;
  sync::LockGuard guard(lock_);
  if (fixed_) {
    geometry_ = Geometry::for_fixed(bytes);
    zones_[kLarge].spans.set_page(geometry_.page);
    if (geometry_.page != Geometry().page) register_fixed();
  }
  PoolChunk* chunk =
      ::new (pointer_to(address)) PoolChunk{raw, bytes, nullptr, nullptr, nullptr, 0, 0, false};
  lay_out(chunk, kind);
  if (chunk->bytes == 0) return nullptr;
  add(chunk, zone(kind));
  // (2) release: publishes the geometry to (1) in allocate()
  if (fixed_) max_small_.store(geometry_.max_small(), std::memory_order_release);
  return chunk;
}

// Determines where the first span and the end mark lie.
void Pool::lay_out(PoolChunk* chunk, Kind kind) {
  const std::size_t unit = kind == kSmall && !fixed_ ? geometry_.slab_bytes() : geometry_.page;
  const std::uintptr_t first =
      align_up(address_of(chunk) + sizeof(PoolChunk) + kSpanHeader, unit) - kSpanHeader;
  // The end mark lies where a span could begin.
  const std::uintptr_t last = end_of(*chunk) - kSpanHeader;
  chunk->first = static_cast<PoolSpan*>(pointer_to(first));
  chunk->bytes = last > first ? align_down(last - first, unit) : 0;
}

void Pool::add(PoolChunk* chunk, Zone& to) {
  chunk->previous = nullptr;
  chunk->next = to.chunks;
  if (chunk->next != nullptr) chunk->next->previous = chunk;
  to.chunks = chunk;
  to.spans.add_chunk(this, chunk);
}

void Pool::remove(PoolChunk* chunk, Zone& from) {
  if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
  if (chunk->previous != nullptr) {
    chunk->previous->next = chunk->next;
  } else {
    from.chunks = chunk->next;
  }
}

// Releases the span. If its chunk is unused then, moves the chunk to `unused`, for the caller to
// give back. One unused chunk of moderate size stays, so that a pool that keeps freeing its last
// block and allocating again does not request raw memory each time. Requires: the caller holds the
// pool's lock.
void Pool::release_span(PoolSpan* span, PoolChunk** unused) {
  Zone& to = zone_of(span);
  PoolChunk* chunk = span->chunk;
  to.spans.release(span);
  if (chunk->used != 0 || fixed_ || keep_all_) return;
  const std::size_t limit = granularity_ > kMaxRequest ? granularity_ : kMaxRequest;
  if (to.spare == nullptr && chunk->raw_bytes <= limit) {
    to.spare = chunk;
    return;
  }
  to.spans.remove_chunk(chunk);
  remove(chunk, to);
  chunk->next = *unused;
  *unused = chunk;
}

void Pool::free_chunks(PoolChunk* chunks) {
  while (chunks != nullptr) {
    PoolChunk* next = chunks->next;
    raw_free_(id_, chunks->raw, chunks->raw_bytes);
    chunks = next;
  }
}

// Requires: the caller holds the pool's lock.
void Pool::register_fixed() {
  sync::LockGuard guard(fixed_pools_lock);
  next_fixed_ = fixed_pools;
  fixed_pools = this;
  registered_ = true;
  fixed_pool_count.fetch_add(1, std::memory_order_relaxed);  // relaxed: the lock orders the list
}

void Pool::unregister_fixed() {
  if (!registered_) return;
  sync::LockGuard guard(fixed_pools_lock);
  Pool** link = &fixed_pools;
  while (*link != this) link = &(*link)->next_fixed_;
  *link = next_fixed_;
  fixed_pool_count.fetch_sub(1, std::memory_order_relaxed);  // relaxed: the lock orders the list
}

Pool* Pool::of(const void* block) {
  // relaxed: the program passed the block to this thread, so the count of its pool is visible
  if (fixed_pool_count.load(std::memory_order_relaxed) != 0) {
    sync::LockGuard guard(fixed_pools_lock);
    for (Pool* pool = fixed_pools; pool != nullptr; pool = pool->next_fixed_) {
      const PoolChunk* chunk = pool->zones_[kLarge].chunks;
      if (address_of(block) >= address_of(chunk) && address_of(block) < end_of(*chunk)) {
        return pool;
      }
    }
  }
  const Geometry usual;
  if (usual.is_large(block)) return Geometry::large_span(block)->pool;
  return usual.slab_of(block)->pool;
}

}  // namespace corbel::pools
