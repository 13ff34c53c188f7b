// SPDX-License-Identifier: Apache-2.0
// Which thread has which heap.
//
// A thread attaches a heap with its first malloc: a spare one, or a new one. A heap becomes spare,
// without its slabs, when its thread ends or when another thread takes it over (idle_heaps.hpp).
#pragma once

#include <cstddef>

#include "alloc/heap/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

// Guards the assignment of heaps to threads (Heap::owner_slot).
extern sync::Lock heap_owners_lock;

// Guards the list of all heaps and the list of spare heaps.
extern sync::Lock registry_lock;

// Returns the calling thread's heap. Attaches a spare or a new one if the thread has none; nullptr
// when there is no memory for it.
Heap* attach_heap();

// Like attach_heap(), for a free. Also returns nullptr if the thread has no heap and is ending: a
// heap attached that late might never be detached.
Heap* heap_for_free();

// The calling thread's heap; nullptr if it has none.
Heap* find_heap();

// Retires the calling thread's heap. The thread attaches another one with its next malloc.
void detach_heap();

// Makes a heap that no longer has a thread a spare heap. Its slabs become orphans.
void retire_heap(Heap* heap);

// os::thread_id(), without a call of the system where the thread has ever had a heap.
std::uint32_t known_thread_id();

// How many threads have a heap.
std::size_t live_heaps();

// The first in the list of all heaps ever made, which are linked by Heap::next and never destroyed.
Heap* all_heaps_made();

// Resets the state of other threads in the child of a fork, where they do not exist.
void forget_other_threads();

}  // namespace corbel::alloc
