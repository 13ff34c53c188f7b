// SPDX-License-Identifier: Apache-2.0
// Blocks freed by a thread that does not own them.
//
// The freeing thread collects them in its outbox, without a look at the owner. When the outbox is
// full it sorts them by owner and sends each owner one chain with one compare-and-swap: nothing
// shared is touched per free. (Batching by destination: snmalloc, Liétar et al., ISMM 2019.)
//
// A chain needs no memory of its own. Its links, the carriers, are freed blocks; a carrier also
// holds the addresses of up to seven other blocks, as far as it is large enough, so that the owner
// reads one cold cache line for eight blocks instead of eight:
//
//   word 0: address of the next carrier | number of addresses that follow (blocks are aligned to 8)
//   word 1 to 7: addresses of blocks
//
// The inbox is a stack that is pushed to by anybody and emptied as a whole by the owner (Treiber,
// 1986, without his ABA problem, which only popping single elements has).
//
// Who empties it when the owner's thread has ended? Ending, a thread (a) moves its slabs to the
// orphan heap, (b) sets its state to idle, (c) empties its inbox once more. A sender (d) pushes,
// (e) reads the state. (b) to (e) are sequentially consistent: either (c) comes after (d) and finds
// the chain, or (d) comes after (c), hence (e) after (b): the sender sees idle and empties the
// inbox itself, under the lock of the orphans.
#pragma once

#include "alloc/heap.hpp"

namespace corbel::alloc {

// Puts a block of another thread's slab into this thread's outbox; sends when that is full.
void send_later(Heap* heap, Span* slab, void* block);

// Sends a single block, for a thread that has no heap.
void send_now(Span* slab, void* block);

// Sends all that is in the outbox. True if there was anything.
bool send_all(Heap* heap);

// Frees what others have sent to `heap`; called by its owner.
void receive(Heap* heap);

// Frees what others have sent to a heap without a thread. The caller holds orphans_lock; only
// receive_for_idle() calls it.
void receive_into_orphans(Heap* heap);

}  // namespace corbel::alloc
