// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/registry.hpp"

#include "alloc/map/lock_ranks.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock registry_lock{lock_rank::kRegistry};
constinit Heap* all_heaps = nullptr;
constinit std::atomic<std::size_t> resting_count{0};

namespace {

// Both linked by Heap::next_spare, the last one that came first.
constinit Heap* spare_heaps = nullptr;
constinit Heap* resting_heaps = nullptr;
constinit std::size_t live_count = 0;

Heap* pop(Heap** list) {
  Heap* const heap = *list;
  if (heap != nullptr) *list = heap->next_spare;
  return heap;
}

void push(Heap** list, Heap* heap) {
  heap->next_spare = *list;
  *list = heap;
}

// relaxed: written under registry_lock, and elsewhere only a hint
void change_resting(std::ptrdiff_t by) {
  resting_count.store(resting_count.load(std::memory_order_relaxed) + std::size_t(by),
                      std::memory_order_relaxed);
}

}  // namespace

Heap* all_heaps_made() {
  sync::LockGuard guard(registry_lock);
  return all_heaps;
}

void register_heap(Heap* heap) {
  sync::LockGuard guard(registry_lock);
  heap->next = all_heaps;
  all_heaps = heap;
}

std::size_t live_heaps() {
  sync::LockGuard guard(registry_lock);
  return live_count;
}

std::size_t note_attached() {
  sync::LockGuard guard(registry_lock);
  return ++live_count;
}

void note_left() {
  sync::LockGuard guard(registry_lock);
  --live_count;
}

void reset_live_heaps(std::size_t live) { live_count = live; }

HeapList heaps_under_lock() { return {live_count, all_heaps}; }

void add_spare_heap(Heap* heap) {
  sync::LockGuard guard(registry_lock);
  push(&spare_heaps, heap);
}

Heap* take_spare_heap() {
  sync::LockGuard guard(registry_lock);
  return pop(&spare_heaps);
}

bool rest(Heap* heap) {
  const std::uint64_t now = os::now_ms();
  sync::LockGuard guard(registry_lock);
  if (resting_count.load(std::memory_order_relaxed) == kMaxResting) return false;  // relaxed: above
  heap->rests_since = now;
  push(&resting_heaps, heap);
  change_resting(1);
  return true;
}

Heap* take_resting_heap() {
  if (!some_heap_rests()) return nullptr;
  sync::LockGuard guard(registry_lock);
  Heap* const heap = pop(&resting_heaps);
  if (heap != nullptr) change_resting(-1);
  return heap;
}

Heap* take_rested_heap(std::uint32_t least) {
  if (!some_heap_rests()) return nullptr;
  const std::uint64_t now = os::now_ms();
  sync::LockGuard guard(registry_lock);
  Heap** link = &resting_heaps;
  if (*link == nullptr) return nullptr;
  while ((*link)->next_spare != nullptr) link = &(*link)->next_spare;
  // Signed: it may have begun to rest after `now` was read.
  if (least != 0 && std::int64_t(now - (*link)->rests_since) < least) return nullptr;
  change_resting(-1);
  return pop(link);
}

}  // namespace corbel::alloc
