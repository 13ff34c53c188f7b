// SPDX-License-Identifier: Apache-2.0
// The helper thread, which gives memory back when nobody else does.
//
// All else in the allocator is done by the threads that call it. That is not enough where they stop
// calling: all of them sleep, or have ended, and what they have freed stays. So a process that has
// had several threads with heaps at once and takes more than a few MiB, or has many such threads,
// gets a thread, "corbel", which every purge delay
//   - takes the heaps of sleepers over, purges the pages of their slabs, and what is due elsewhere,
//   - reads what the container grants,
// and the first of it sooner where heaps are many and threads go on coming, as long as there is
// something to do or threads allocate. Then it is parked: it sleeps until a slow path calls it. In
// a process that is idle it never runs.
//
// It is started in malloc, never in free: the C library frees memory with locks held that it needs
// for starting a thread (that of the list of unused stacks).
//
// The C library ends a process whose main thread has left by pthread_exit when its last thread
// ends, and counts this one too. So the main thread's exit hook ends the helper and waits for it,
// and there is none from then on; and none is started where the main thread has no exit hook.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// Odd: the next slow path has something to do.
enum class Helper : std::uint32_t {
  kNone = 0,
  kWanted = 1,  // is to be started
  kStarting = 2,
  kParked = 3,
  kAwake = 4,
  kBarred = 6,  // there will be none any more
};

extern std::atomic<std::uint32_t> helper_word;

enum class MayStart : bool { kNo, kYes };
void call_helper_slow(MayStart may_start);

// Whether the next slow path has something to do. relaxed: nothing is read because of the value; a
// call that is missed now is made by the next slow path, and see park() in helper.cpp
inline bool helper_is_waiting() { return (helper_word.load(std::memory_order_relaxed) & 1) != 0; }

// What a slow path calls when it holds no lock, and with kYes if it has not begun to work on the
// thread's heap.
inline void call_helper(MayStart may_start) {
  if (helper_is_waiting()) [[unlikely]]
    call_helper_slow(may_start);
}

// What makes a helper thread worth its while: two threads with heaps at the same time, and memory
// or many heaps. The first is called whenever a heap is attached; a thread is new that had none
// before.
void note_heaps(std::size_t live, bool thread_is_new);
void note_mapped_bytes(std::size_t mapped);

// Whether the main thread's exit hook will call end_helper().
void hook_main_thread(bool hooked);
void end_helper();

// The child has no helper thread, and one thread.
void forget_helper_after_fork();

Helper helper_state();

}  // namespace corbel::alloc
