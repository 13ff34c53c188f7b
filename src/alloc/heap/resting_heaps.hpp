// SPDX-License-Identifier: Apache-2.0
// Resting heaps. The heap of a thread that has ended stays whole for a moment, with its slabs and
// lists, for the next thread that starts: taking a heap apart and building up another one costs a
// short-lived thread more than all its mallocs and frees.
//
// A resting heap is like that of a sleeping thread. Other threads send their remote frees to its
// inbox, and its free memory serves none of them. So only a few heaps rest at a time, and each for
// kRestMs. A heap that has rested for longer is taken apart (retire_heap()) by the next thread that
// is about to make a slab, or by the helper thread. A thread that looks for room under a limit, or
// that trims, takes all of them apart.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap/heap.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kMaxResting = 8;
inline constexpr std::uint32_t kRestMs = 10;

// Lets a heap rest that no longer has a thread. False if as many rest already as may: then the
// caller must retire the heap.
bool rest(Heap* heap);

// Removes the heap that began to rest last and returns it; nullptr if none rests.
Heap* take_resting_heap();

// Retires the heaps that have rested for `least` milliseconds, and returns how many. Adds to
// `*left` the number of those that go on resting. Requires: the caller holds no lock.
std::size_t retire_rested(std::uint32_t least, std::size_t* left = nullptr);

// How many heaps rest. Changes under registry_lock.
extern std::atomic<std::size_t> resting_count;

// Whether retire_rested() may find one. relaxed: a heap that is missed now is found next time
inline bool some_heap_rests() { return resting_count.load(std::memory_order_relaxed) != 0; }

}  // namespace corbel::alloc
