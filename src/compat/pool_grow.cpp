// SPDX-License-Identifier: Apache-2.0
// The raw memory of a pool: asking for it, giving it back, and the pool's own beginning and end.
#include <new>

#include "alloc/allocator.hpp"
#include "base/bits.hpp"
#include "compat/pool.hpp"
#include "os/os.hpp"

namespace corbel::compat {

namespace {

constexpr std::size_t kDefaultGranularity = 64 * 1024;
constexpr std::size_t kFirstRequest = 64 * 1024;
constexpr std::size_t kLargestRequest = 4 * 1024 * 1024;
constexpr std::size_t kFixedRequest = 2 * 1024 * 1024;

// The fixed pools whose page is not the usual one, which a block's address does not lead to.
constinit sync::Lock fixed_pools_lock{pool_rank::kFixedPools};
constinit Pool* fixed_pools = nullptr;
constinit std::atomic<unsigned> fixed_pool_count{0};

std::uintptr_t end_of(const Region& region) { return address_of(region.raw) + region.raw_bytes; }

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
    for (Region* region = each.regions; region != nullptr && pool->raw_free_ != nullptr;) {
      Region* next = region->next;
      all_freed &= pool->raw_free_(pool->id_, region->raw, region->raw_bytes) == 0;
      region = next;
    }
  }
  // relaxed: no other thread uses the pool
  alloc::deallocate(pool->more_shards_.load(std::memory_order_relaxed));
  pool->~Pool();
  alloc::deallocate(pool);
  return all_freed;
}

void Pool::reset() {
  Shard* more = more_shards_.load(std::memory_order_relaxed);  // relaxed: see above
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
    for (Region* region = each.regions; region != nullptr; region = region->next) {
      each.spans.add_region(this, region);
      region->untouched = true;
    }
  }
  has_untouched_ = !fixed_;
}

std::size_t Pool::rounded_request(std::size_t bytes) const {
  const std::size_t granules = divide_up(bytes, granularity_);
  std::size_t result = 0;
  return __builtin_mul_overflow(granules, granularity_, &result) ? 0 : result;
}

// Only one thread at a time asks for raw memory; the others wait and look again, since what it
// brings will mostly do for them too.
Pool::Growth Pool::grow(const Need& need) {
  lock_.lock();
  if (convert_untouched(need)) {
    lock_.unlock();
    return Growth::kTryAgain;
  }
  if (growing_) {
    // relaxed: the lock orders it
    const std::uint32_t seen = growths_.load(std::memory_order_relaxed);
    lock_.unlock();
    // relaxed: only the count is read; the memory is found under the lock
    while (growths_.load(std::memory_order_relaxed) == seen) os::wait(growths_, seen);
    os::wake_one(growths_);  // passes the wake-up on to the next that waits
    return Growth::kTryAgain;
  }
  if (fixed_ && asked_) {
    lock_.unlock();
    return Growth::kRefused;
  }
  growing_ = true;
  asked_ = true;
  lock_.unlock();
  const Growth result = request(need);
  lock_.lock();
  growing_ = false;
  growths_.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
  lock_.unlock();
  os::wake_one(growths_);
  return result;
}

// After a reset, memory of one kind may become the other's: nothing has been freed in it yet.
// With the lock held.
bool Pool::convert_untouched(const Need& need) {
  if (!has_untouched_) return false;
  const Kind other = need.kind == kSmall ? kLarge : kSmall;
  for (Region* region = zones_[other].regions; region != nullptr; region = region->next) {
    const std::size_t slack = need.alignment + geometry_.slab_bytes() + 2 * kSpanHeader;
    if (!region->untouched || region->raw_bytes < need.bytes + slack + sizeof(Region)) continue;
    zones_[other].spans.remove_region(region);
    remove(region, zones_[other]);
    lay_out(region, need.kind);
    add(region, zones_[need.kind]);
    return true;
  }
  return false;
}

// Calls pAlloc, without a lock. Asks for more than is needed at first, to ask less often.
Pool::Growth Pool::request(const Need& need) {
  const std::size_t slack = sizeof(Region) + kSpanHeader * 2 + kPoolClassSizes[1] +
                            (need.kind == kSmall ? geometry_.slab_bytes() : need.alignment);
  const std::size_t least = rounded_request(need.bytes + slack);
  // Only the thread that grows the pool changes next_request.
  std::size_t& next_request = zone(need.kind).next_request;
  std::size_t wish = rounded_request(next_request);
  if (wish < least || need.bytes > next_request / 2) wish = least;
  if (fixed_) wish = rounded_request(kFixedRequest);
  if (wish == 0) return Growth::kRefused;

  std::size_t bytes = wish;
  void* raw = raw_alloc_(id_, bytes);
  if (raw == nullptr && !fixed_ && least != 0 && least < wish) {
    bytes = least;
    raw = raw_alloc_(id_, bytes);
  }
  if (raw == nullptr) return Growth::kRefused;
  if (bytes >= wish && next_request < kLargestRequest) next_request *= 2;

  Region* region = adopt(raw, bytes, need.kind);
  if (region == nullptr) {
    if (!fixed_) raw_free_(id_, raw, bytes);
    return Growth::kRefused;
  }
  // A callback may give less than it was asked for.
  if (fixed_ || bytes >= least) return Growth::kTryAgain;
  sync::LockGuard guard(lock_);
  Zone& to = zone(need.kind);
  Span* span = to.spans.allocate(need.bytes, need.kind == kSmall ? need.bytes : need.alignment);
  if (span == nullptr) return Growth::kRefused;
  to.spans.release(span);
  return Growth::kTryAgain;
}

// Makes a region of raw memory and adds it to the zone. nullptr when it is too small for anything.
Region* Pool::adopt(void* raw, std::size_t bytes, Kind kind) {
  const std::uintptr_t place = align_up(address_of(raw), alignof(Region));
  if (bytes < sizeof(Region) + 4 * kSpanHeader) return nullptr;
  sync::LockGuard guard(lock_);
  if (fixed_) {
    geometry_ = Geometry::for_fixed(bytes);
    zones_[kLarge].spans.set_page(geometry_.page);
    if (geometry_.page != Geometry().page) register_fixed();
  }
  Region* region =
      ::new (pointer_to(place)) Region{raw, bytes, nullptr, nullptr, nullptr, 0, 0, false};
  lay_out(region, kind);
  if (region->bytes == 0) return nullptr;
  add(region, zone(kind));
  // (2) release: publishes the geometry to (1)
  if (fixed_) max_small_.store(geometry_.max_small(), std::memory_order_release);
  return region;
}

// Finds the places of the first span and of the end mark.
void Pool::lay_out(Region* region, Kind kind) {
  const std::size_t unit = kind == kSmall && !fixed_ ? geometry_.slab_bytes() : geometry_.page;
  const std::uintptr_t first =
      align_up(address_of(region) + sizeof(Region) + kSpanHeader, unit) - kSpanHeader;
  // The end mark lies where a span could begin.
  const std::uintptr_t last = end_of(*region) - kSpanHeader;
  region->first = static_cast<Span*>(pointer_to(first));
  region->bytes = last > first ? align_down(last - first, unit) : 0;
}

void Pool::add(Region* region, Zone& to) {
  region->previous = nullptr;
  region->next = to.regions;
  if (region->next != nullptr) region->next->previous = region;
  to.regions = region;
  to.spans.add_region(this, region);
}

void Pool::remove(Region* region, Zone& from) {
  if (region->next != nullptr) region->next->previous = region->previous;
  if (region->previous != nullptr) {
    region->previous->next = region->next;
  } else {
    from.regions = region->next;
  }
}

// Adds the region to `unused` when nothing is left in it. One of moderate size is kept, so that a
// pool that frees its last block and allocates again does not ask for raw memory each time.
void Pool::release_span(Span* span, Region** unused) {
  Zone& to = zone_of(span);
  Region* region = span->region;
  to.spans.release(span);
  if (region->used != 0 || fixed_ || keep_all_) return;
  const std::size_t limit = granularity_ > kLargestRequest ? granularity_ : kLargestRequest;
  if (to.spare == nullptr && region->raw_bytes <= limit) {
    to.spare = region;
    return;
  }
  to.spans.remove_region(region);
  remove(region, to);
  region->next = *unused;
  *unused = region;
}

void Pool::free_regions(Region* regions) {
  while (regions != nullptr) {
    Region* next = regions->next;
    raw_free_(id_, regions->raw, regions->raw_bytes);
    regions = next;
  }
}

// With the pool's lock held.
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
  fixed_pool_count.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
}

Pool* Pool::of(const void* block) {
  // relaxed: whoever holds a block of such a pool has seen the pool counted
  if (fixed_pool_count.load(std::memory_order_relaxed) != 0) {
    sync::LockGuard guard(fixed_pools_lock);
    for (Pool* pool = fixed_pools; pool != nullptr; pool = pool->next_fixed_) {
      const Region* region = pool->zones_[kLarge].regions;
      if (address_of(block) >= address_of(region) && address_of(block) < end_of(*region)) {
        return pool;
      }
    }
  }
  const Geometry usual;
  if (usual.is_large(block)) return Geometry::large_span(block)->pool;
  return usual.slab_of(block)->pool;
}

}  // namespace corbel::compat
