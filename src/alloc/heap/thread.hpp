// SPDX-License-Identifier: Apache-2.0
// Which thread has which heap.
//
// A thread attaches a heap with its first malloc: a resting one, a spare one, or a new one. When
// its thread ends, a heap rests for a moment as it is (registry.hpp). Then, or when another
// thread takes it over (idle_heaps.hpp), it becomes spare, without its slabs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/registry.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

// Guards the assignment of heaps to threads (Heap::owner_slot).
extern sync::Lock heap_owners_lock;

// Returns the calling thread's heap. Attaches a resting, a spare or a new one if the thread has
// none; nullptr when there is no memory for it.
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

// Makes a heap that no longer has a thread a spare heap. Its slabs become orphans.
void retire_heap(Heap* heap);

// Retires the heaps that have rested for `least` milliseconds, and returns how many. Requires: the
// caller holds no lock.
std::size_t retire_rested(std::uint32_t least);

// os::thread_id(), without a call of the system where the thread has ever had a heap.
std::uint32_t known_thread_id();

// Resets the state of other threads in the child of a fork, where they do not exist.
void forget_other_threads();

}  // namespace corbel::alloc
