// SPDX-License-Identifier: Apache-2.0
// Heaps and threads: a heap is made or taken from the pool with a thread's first malloc, and goes
// back to the pool, without its slabs, when the thread ends, or when somebody finds it asleep
// (sleepers.hpp).
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"

namespace corbel::alloc {

// The calling thread's heap, made if it has none yet; nullptr when there is no memory for it.
Heap* attach_heap();

// The calling thread's heap if it has one or is still going to run the program's code; nullptr in
// the last moments of a thread, when a new heap might never be given back.
Heap* heap_for_free();

// The calling thread's heap; nullptr if it has none.
Heap* find_heap();

// Takes the calling thread's heap apart; it gets another with its next malloc.
void detach_heap();

// Takes a heap apart that no thread has any more.
void retire_heap(Heap* heap);

// Threads that have a heap.
std::size_t live_heaps();

// The first of all heaps ever made, of which each leads to the next. They stay.
Heap* all_heaps_made();

}  // namespace corbel::alloc
