// SPDX-License-Identifier: Apache-2.0
// Which thread has which heap.
//
// A thread attaches a heap with its first malloc: a resting one, a spare one, or a new one. When
// its thread ends, a heap rests for a moment as it is (resting_heaps.hpp). Then, or when another
// thread takes it over (idle_heaps.hpp), it becomes spare, without its slabs.
#pragma once

#include <cstddef>

#include "alloc/heap/heap.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

// Guards the assignment of heaps to threads (Heap::owner_slot).
extern sync::Lock heap_owners_lock;

// Guards the list of all heaps and the list of spare heaps.
extern sync::Lock registry_lock;

// Where that list begins. Elsewhere all_heaps_made() returns it.
extern Heap* all_heaps;

// Returns the calling thread's heap. Attaches a spare or a new one if the thread has none; nullptr
// when there is no memory for it.
Heap* attach_heap();

// Like attach_heap(), for a free. Also returns nullptr if the thread has no heap and is ending: a
// heap attached that late might never be detached.
Heap* heap_for_free();

// The calling thread's heap; nullptr if it has none.
Heap* find_heap();

// Takes the calling thread's heap from it. The thread attaches another one with its next malloc.
enum class MayRest { kNo, kYes };
void detach_heap(MayRest may_rest);

// In a slow path that may attach a heap, before its SlowPath: at the end, takes the heap from a
// thread whose exit hook will not run again. A slow path within one that has attached the heap
// leaves it.
class LateHeap {
 public:
  LateHeap() : is_late_(os::ThreadExit::is_over() && find_heap() == nullptr) {}
  ~LateHeap() {
    if (is_late_) [[unlikely]]
      detach_heap(MayRest::kNo);
  }
  LateHeap(const LateHeap&) = delete;
  LateHeap& operator=(const LateHeap&) = delete;

 private:
  const bool is_late_;
};

// For a heap whose thread no longer has it: live_heaps() no longer counts it.
void note_left();

// Makes a heap that no longer has a thread a spare heap. Its slabs become orphans.
void retire_heap(Heap* heap);

// os::thread_id(), without a call of the system where the thread has ever had a heap.
std::uint32_t known_thread_id();

// How many threads have a heap.
std::size_t live_heaps();

// The first in the list of all heaps ever made, which are linked by Heap::next and never destroyed.
Heap* all_heaps_made();

// Both. Requires: the caller holds registry_lock.
struct HeapList {
  std::size_t live;
  const Heap* first;
};
HeapList heaps_under_lock();

// Resets the state of other threads in the child of a fork, where they do not exist.
void forget_other_threads();

}  // namespace corbel::alloc
