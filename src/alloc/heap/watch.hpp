// SPDX-License-Identifier: Apache-2.0
// Watching every call of the program, without a test on the fast paths.
//
// While calls are watched, this_heap is &unset_heap whenever a thread runs the program's code. That
// heap has no blocks and owns no slab, so each malloc and each free leaves its fast path by itself,
// and the slow path hands the call over to src/alloc/check. There, an InsideAllocator makes the
// thread's real heap current, for calls of the ordinary functions. Where the allocator calls
// something that may call malloc, a ProgramCode hides the heap again.
//
// Other threads never take over a heap while calls are watched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap/call_kind.hpp"
#include "alloc/heap/heap.hpp"
#include "base/thread_variable.hpp"

namespace corbel::alloc {

// Set once, before the process has a second thread, and never cleared. relaxed everywhere: a thread
// that is created later sees it
extern std::atomic<bool> watch_is_on;

struct WatchedThread {
  Heap* heap;            // hidden from the program's code; nullptr: none, or it is in this_heap
  std::uint32_t inside;  // the thread is in an InsideAllocator
};
CORBEL_EXTERN_THREAD_VARIABLE(WatchedThread, watched_thread);
inline WatchedThread& watched() { return watched_thread; }

inline bool watches() { return watch_is_on.load(std::memory_order_relaxed); }

// Whether the current call comes from the program and is watched.
inline bool call_is_watched() { return watches() && watched().inside == 0; }

// Like call_is_watched(), and also finds out whether calls are to be watched at all if this is the
// first call in the process. For a call that has found no heap.
bool first_call_is_watched();

// Hides the heap that the thread has in this_heap. Callers of find_heap() still get it.
void hide_heap();

// Makes the thread's heap current. If it has none, the first malloc attaches one.
class InsideAllocator {
 public:
  InsideAllocator();
  ~InsideAllocator();
  InsideAllocator(const InsideAllocator&) = delete;
  InsideAllocator& operator=(const InsideAllocator&) = delete;
};

// For code inside the allocator that calls the program or the C library: their calls are watched.
// Does nothing in a thread that is not in an InsideAllocator.
class ProgramCode {
 public:
  ProgramCode();
  ~ProgramCode();
  ProgramCode(const ProgramCode&) = delete;
  ProgramCode& operator=(const ProgramCode&) = delete;

 private:
  std::uint32_t inside_;
};

// ---- defined in src/alloc/check -----------------------------------------------------------------

// What a new block is to contain.
enum class Fill : bool { kAny, kZero };

// Like allocate_aligned() and allocate_zeroed(). `alignment` is at most kMinAlignment for the
// ordinary forms.
void* watched_allocate(std::size_t size, std::size_t alignment, Origin origin, Fill fill);

// Like deallocate(), for any value of `block`.
void watched_deallocate(void* block, Release release);

// Like reallocate_aligned(), and stores what that returns in `*result`. Does nothing and returns
// false if the block is foreign. Requires: `block` is not nullptr.
bool watched_reallocate(void* block, std::size_t size, std::size_t alignment, void** result);

// Like usable_size() and is_block(). Requires: `block` is not nullptr.
std::size_t watched_usable_size(const void* block);
bool watched_is_block(const void* block);

}  // namespace corbel::alloc
