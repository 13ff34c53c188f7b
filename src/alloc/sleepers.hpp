// SPDX-License-Identifier: Apache-2.0
// Threads that sleep keep nothing: whoever needs memory takes their heaps apart in their place, as
// their exit hooks would. A thread that wakes up finds its this_heap unset and attaches another
// heap, on the slow path that the first malloc of any thread takes. Nothing on the fast paths knows
// of this.
//
// The protocol. The taker, holding sleepers_lock,
//   (1) sets the owner's this_heap to &unset_heap,
//   (2) asks the system whether the owner sleeps, and outside signal handlers (os::ThreadWatch),
//   (3) reads whether the owner is in a slow path,
//   (4) asks whether it is still asleep, in the same call,
//   (5) unless the answers are yes, no and yes, sets this_heap to the heap again.
// The owner reads this_heap at the beginning of every operation.
//
// Why it is right. Let the owner sleep, as (2) says. What it does next happens after (2), so after
// (1): every operation that it begins from then on reads the unset heap. An operation that it had
// begun before, and has not ended, would be (a) a fast path, which makes no system call, so that
// only a signal handler could have brought the owner to sleep in it, and (2) says that it is in
// none; or (b) a slow path, which says so in Heap::slow_paths before its first system call. What
// the owner wrote before it fell asleep is seen after (2), so that (3) sees it in the slow path, or
// it has woken up meanwhile and has left it, and then (4) says no. So there is none, all that they
// wrote is seen, and the heap is nobody's.
//
// The owner may run at any other time. Between (1) and (5) it finds the unset heap, goes to
// attach_heap(), waits for sleepers_lock and looks again: (5) has put its heap back, or it was
// found asleep, in that very wait perhaps, and has none.
//
// `place`, where this_heap lies, is good to write while it is set in the heap and the lock is held:
// the exit hook takes the lock and clears it before the thread's memory goes. A heap attached when
// the hook has already run, or could not be registered, has no `place` and stays with its thread.
//
// test/model/sleepers_model.cpp has all of it in a model.
#pragma once

#include <cstddef>

#include "alloc/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

extern sync::Lock sleepers_lock;

// Writes a thread's this_heap. relaxed: the kernel orders it where another thread reads it, see
// above
inline void set_place(Heap** place, Heap* heap) { __atomic_store_n(place, heap, __ATOMIC_RELAXED); }

// Takes the heaps of the threads apart that sleep and, if `idle_only`, have not allocated since the
// last such call. Returns how many, and in `active` how many others may be among them later though
// their threads pass no slow path until then. The calling thread holds no lock; its own heap stays.
std::size_t take_over_sleepers(bool idle_only, std::size_t* active = nullptr);

// How many heaps that were, since the process began.
std::size_t heaps_taken_over();

}  // namespace corbel::alloc
