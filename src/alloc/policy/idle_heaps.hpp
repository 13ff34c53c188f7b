// SPDX-License-Identifier: Apache-2.0
// Taking over the heaps of idle threads. A thread that needs memory, or the helper thread, retires
// the heap of a sleeping thread: its slabs become orphans, and the heap is spare. When the thread
// wakes up, its this_heap is unset, and its next malloc attaches another heap on the same slow path
// as a thread's first malloc. The fast paths need no extra code for this.
//
// The protocol. The taking thread, holding heap_owners_lock,
//   (1) sets the owner's this_heap to &unset_heap,
//   (2) asks the system whether the owner sleeps, outside of signal handlers (os::ThreadWatch),
//   (3) reads whether the owner is in a slow path,
//   (4) asks the system whether the owner has slept without a break since (2),
//   (5) unless the answers are yes, no and yes, sets this_heap back to the heap.
// The owner reads this_heap at the beginning of every operation.
//
// Why it is right. Suppose that the owner sleeps in (2). Whatever it does next happens after (2),
// and so after (1): every operation that it begins from then on reads the unset heap. That leaves
// an operation that it began before and has not finished.
//   (a) It cannot be a fast path. A fast path makes no system call, so only a signal handler that
//       interrupted it could be asleep in it, and (2) says that the owner is in no handler.
//   (b) It cannot be a slow path. A slow path counts itself in Heap::slow_paths before its first
//       system call. Everything the owner wrote before it fell asleep is visible after (2), so (3)
//       sees that count, unless the owner has woken up and left the slow path meanwhile; and then
//       (4) says no.
// So no operation is under way, the taking thread sees all writes of earlier ones, and no thread
// uses the heap.
//
// The owner may also be awake. If it reads this_heap between (1) and (5), it finds the unset heap,
// goes to attach_heap(), waits for heap_owners_lock and reads this_heap again. Then either (5) has
// put its heap back, or it was found asleep, perhaps in that very wait, and has lost its heap.
//
// `owner_slot` is the address of the owner's this_heap. Another thread may write through it only
// while it holds the lock and `owner_slot` is set: the exit hook takes the lock and clears it
// before the thread's memory goes. A heap that was attached after the hook had run, or when the
// hook could not be registered, has no `owner_slot` and stays with its thread.
//
// test/model/idle_heaps_model.cpp checks this protocol in a model.
#pragma once

#include <cstddef>

namespace corbel::alloc {

// Retires the heaps of sleeping threads; if `idle_only`, only of those that have not allocated
// since the last such call. Returns how many it has retired. Adds to `*active` the number of heaps
// that a later call may be able to retire even if their threads pass no slow path until then.
// Requires: the caller holds no lock. Leaves the caller's own heap alone.
std::size_t take_over_idle_heaps(bool idle_only, std::size_t* active = nullptr);

// How many heaps were taken over since the process began.
std::size_t heaps_taken_over();

}  // namespace corbel::alloc
