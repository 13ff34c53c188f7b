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
// sync/inbox.hpp says how a chain is received, also when the owner's thread ends meanwhile: having
// moved its slabs to the orphan heap, it marks its inbox idle and empties it once more; from then
// on senders empty it themselves, under the lock of the orphans. A block may reach a heap that has
// lost its slab to another one in between: whoever receives it sends it on.
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

// Calls `visit(context, block)` for what others have sent to `heap`, the calling thread's, and
// stays there; for a bounded part of it if that is much. The caller holds orphans_lock, lest the
// inbox be emptied meanwhile by a sender that has seen the heap idle.
void visit_inbox(const Heap& heap, void (*visit)(void* context, void* block), void* context);

}  // namespace corbel::alloc
