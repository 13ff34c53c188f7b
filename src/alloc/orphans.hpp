// SPDX-License-Identifier: Apache-2.0
// Slabs that outlive their thread.
//
// They belong to the orphan heap, an ordinary heap whose "thread" is whoever holds its lock. Any
// thread that needs a slab of some class takes one of these before it asks for a new one; blocks
// freed meanwhile are put back by the thread that frees them.
#pragma once

#include "alloc/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

extern Heap orphan_heap;
extern sync::Lock orphans_lock;

// Moves a slab with something to give from the orphans to `heap`; nullptr if there is none. The
// slab is in no list.
Span* adopt_slab(Heap* heap, unsigned size_class);

// Moves all slabs of a heap whose thread is ending to the orphans and releases the empty ones.
void abandon_slabs(Heap* heap);

// Frees what was sent to a heap without a thread, the orphan heap or an idle one. The caller holds
// orphans_lock.
void receive_for_idle(Heap* heap);

// Takes in what was sent to the orphans.
void tidy_orphans();

}  // namespace corbel::alloc
