// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/resting_heaps.hpp"

#include "alloc/heap/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit std::atomic<std::size_t> resting_count{0};

namespace {

// The last to rest is the first; linked by Heap::next_spare. Under registry_lock.
constinit Heap* resting_heaps = nullptr;

// relaxed: written under registry_lock, and elsewhere only a hint
void count(std::size_t now) { resting_count.store(now, std::memory_order_relaxed); }

// Removes the heap that has rested for longest, if that is at least `least` milliseconds.
Heap* take_oldest(std::uint32_t least) {
  const auto now = std::uint32_t(os::now_ms());
  sync::LockGuard guard(registry_lock);
  Heap** link = &resting_heaps;
  if (*link == nullptr) return nullptr;
  while ((*link)->next_spare != nullptr) link = &(*link)->next_spare;
  Heap* const oldest = *link;
  // Signed: it may have begun to rest after `now` was read.
  if (std::int32_t(now - oldest->rests_since) < std::int32_t(least)) return nullptr;
  *link = nullptr;
  count(resting_count - 1);
  return oldest;
}

}  // namespace

bool rest(Heap* heap) {
  const auto now = std::uint32_t(os::now_ms());
  sync::LockGuard guard(registry_lock);
  if (resting_count == kMaxResting) return false;
  heap->rests_since = now;
  heap->next_spare = resting_heaps;
  resting_heaps = heap;
  count(resting_count + 1);
  return true;
}

Heap* take_resting_heap() {
  if (!some_heap_rests()) return nullptr;
  sync::LockGuard guard(registry_lock);
  Heap* const heap = resting_heaps;
  if (heap == nullptr) return nullptr;
  resting_heaps = heap->next_spare;
  count(resting_count - 1);
  return heap;
}

std::size_t retire_rested(std::uint32_t least, std::size_t* left) {
  if (!some_heap_rests()) return 0;
  std::size_t retired = 0;
  while (Heap* const heap = take_oldest(least)) {
    retire_heap(heap);
    ++retired;
  }
  // relaxed: a hint
  if (left != nullptr) *left += resting_count.load(std::memory_order_relaxed);
  return retired;
}

}  // namespace corbel::alloc
