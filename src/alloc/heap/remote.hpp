// SPDX-License-Identifier: Apache-2.0
// Remote frees: blocks freed by a thread that does not own them.
//
// The freeing thread keeps some for itself (borrowed.hpp), and collects the others in its outbox,
// in batches of one slab each. When the outbox is full, the thread sorts the batches by owner,
// links the batches for each owner into a chain, and pushes the chain to the owner's inbox with one
// compare-and-swap. So a single free touches nothing that threads share. (Batching by destination:
// snmalloc, Liétar et al., ISMM 2019.) The owner links a whole batch into the slab's free list in
// one step, however long it is.
//
// A chain needs no memory of its own: each batch header is stored in the batch's first block.
//
// sync/inbox.hpp explains how a chain is received, even if the owner is just leaving. The thread
// that takes a heap apart moves its slabs to the orphan heap, marks its inbox idle, and empties it
// once more. From then on, senders empty that inbox themselves, under orphans_lock. A batch may
// arrive at a heap that no longer owns its slab: then that heap sends the batch on to the new
// owner.
#pragma once

#include <algorithm>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/slab.hpp"

namespace corbel::alloc {

// Sends all batches in the outbox. Returns whether there were any.
bool send_outbox(Heap* heap);

// Sends all remote frees that the thread holds, those in the outbox and the borrowed ones, and ends
// the borrowing. Returns whether there were any.
bool send_all(Heap* heap);

// The batch of `slab` in the outbox; nullptr if there is none.
inline Batch* find_batch(Outbox& outbox, const Span* slab) {
  if (outbox.latest != nullptr && outbox.latest->slab == slab) return outbox.latest;
  const std::uint8_t slot = outbox.slot[slab->unit % Outbox::kSlots];
  if (slot >= outbox.batch_count || outbox.batches[slot].slab != slab) return nullptr;
  return outbox.latest = &outbox.batches[slot];
}

// Begins a batch of `slab`, whose last block will be `block`. Requires: there is none.
inline Batch* begin_batch(Outbox& outbox, Span* slab, Block* block) {
  const std::uint32_t slot = outbox.batch_count++;
  outbox.slot[slab->unit % Outbox::kSlots] = std::uint8_t(slot);
  outbox.batches[slot] = {.slab = slab, .first = nullptr, .last = block, .count = 0};
  // All batches are in use: make put_into_batch() send the outbox.
  if (outbox.batch_count == Outbox::kBatches) outbox.bytes = Outbox::kMaxBytes;
  return outbox.latest = &outbox.batches[slot];
}

// Puts a block of another thread's slab into that slab's batch in this thread's outbox, and sends
// the outbox if that is full.
inline void put_into_batch(Heap* heap, Batch* batch, void* p) {
  Block* const block = static_cast<Block*>(p);
  block->next = batch->first;
  batch->first = block;
  ++batch->count;
  constexpr std::uint32_t kMinBlockBytes = Outbox::kMaxBytes / Outbox::kMaxBlocks;
  heap->outbox.bytes += std::max(batch->slab->layout().block_size, kMinBlockBytes);
  if (heap->outbox.bytes >= Outbox::kMaxBytes) [[unlikely]]
    send_outbox(heap);
}

// Puts the block into the outbox, and sends the outbox if that is full.
inline void send_later(Heap* heap, Span* slab, void* block) {
  Batch* batch = find_batch(heap->outbox, slab);
  if (batch == nullptr) batch = begin_batch(heap->outbox, slab, static_cast<Block*>(block));
  put_into_batch(heap, batch, block);
}

// Sends a single block, for a thread that has no heap.
void send_now(Span* slab, void* block);

// Frees what other threads have sent to `heap`; called by its owner.
void receive(Heap* heap);

// Frees into the orphan heap what other threads have sent to a heap without a thread: to the orphan
// heap itself or to a spare heap. The caller holds orphans_lock.
void receive_into_orphans(Heap* heap);

// Frees what was sent to the orphan heap, and purges what is due.
void tidy_orphans();

// Calls `visit(context, block, count)` for the batches in the inbox of the calling thread's heap,
// up to a fixed number of them, and leaves them there. `block` is one block of the batch, `count`
// the number of its blocks. The caller holds orphans_lock; otherwise a sender that saw the heap
// idle, before this thread attached it, might empty the inbox meanwhile.
void visit_inbox(const Heap& heap,
                 void (*visit)(void* context, const void* block, std::uint32_t count),
                 void* context);

}  // namespace corbel::alloc
