// SPDX-License-Identifier: Apache-2.0
// The heaps that exist, and those without a thread: spare heaps, which have no slabs, and resting
// heaps.
//
// The heap of a thread that has ended rests for a moment: it stays whole, with its slabs and lists,
// for the next thread that needs a heap. Taking a heap apart and building up another one costs a
// short-lived thread more than all its mallocs and frees. A resting heap is like that of a sleeping
// thread. Other threads send their remote frees to its inbox, and its free memory serves none of
// them. So only a few heaps rest at a time, and each for kRestMs. A heap that has rested for longer
// is taken apart by the next thread that makes a slab or a large block, that ends, or that purges
// what is due, or by the helper thread. A thread that looks for room under a limit, or that trims,
// takes all of them apart (retire_rested()).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kMaxResting = 8;
inline constexpr std::uint32_t kRestMs = 10;

// Guards everything here.
extern sync::Lock registry_lock;

// The first in the list of all heaps ever made, which are linked by Heap::next and never destroyed.
// Elsewhere all_heaps_made() returns it.
extern Heap* all_heaps;
Heap* all_heaps_made();

// Adds a new heap to that list.
void register_heap(Heap* heap);

// How many threads have a heap.
std::size_t live_heaps();

// To be called when a thread has got a heap, and when it has it no longer. The first returns
// live_heaps().
std::size_t note_attached();
void note_left();

// In the child of a fork, where no other thread has a heap.
void reset_live_heaps(std::size_t live);

// Both. Requires: the caller holds registry_lock.
struct HeapList {
  std::size_t live;
  const Heap* first;
};
HeapList heaps_under_lock();

void add_spare_heap(Heap* heap);
// nullptr if there is none.
Heap* take_spare_heap();

// Lets a heap rest that no longer has a thread. False if as many rest already as may: then the
// caller must retire the heap.
bool rest(Heap* heap);

// Removes the heap that began to rest last and returns it; nullptr if none rests.
Heap* take_resting_heap();

// Removes the heap that began to rest first and returns it, if it has rested for `least`
// milliseconds; otherwise nullptr. If `least` is 0, the time does not matter.
Heap* take_rested_heap(std::uint32_t least);

// relaxed: a hint; a heap that is missed now is found next time
extern std::atomic<std::size_t> resting_count;
inline bool some_heap_rests() { return resting_count.load(std::memory_order_relaxed) != 0; }

}  // namespace corbel::alloc
