// SPDX-License-Identifier: Apache-2.0
// Blocks freed by a thread that does not own them.
//
// The freeing thread collects them in its outbox, linked to runs of one slab each. When the outbox
// is full it sorts the runs by owner and sends each owner one chain with one compare-and-swap:
// nothing shared is touched per free. (Batching by destination: snmalloc, Liétar et al., ISMM
// 2019.) The owner puts a run before the slab's list of free blocks in one step, however long it
// is.
//
// A chain needs no memory of its own: a run is a letter written into its first block.
//
// sync/inbox.hpp says how a chain is received, also when the owner's thread ends meanwhile: having
// moved its slabs to the orphan heap, it marks its inbox idle and empties it once more; from then
// on senders empty it themselves, under the lock of the orphans. A block may reach a heap that has
// lost its slab to another one in between: whoever receives it sends it on.
#pragma once

#include <algorithm>

#include "alloc/heap.hpp"
#include "alloc/slab.hpp"

namespace corbel::alloc {

// Sends all that is in the outbox. True if there was anything.
bool send_all(Heap* heap);

// The run of `slab`; a new one will end with `block`.
inline Run* find_run(Outbox& outbox, Span* slab, Block* block) {
  std::uint8_t& place = outbox.place[slab->unit % Outbox::kPlaces];
  if (place >= outbox.run_count || outbox.runs[place].slab != slab) {
    place = std::uint8_t(outbox.run_count++);
    outbox.runs[place] = {.slab = slab, .first = nullptr, .last = block, .count = 0};
    // There is no room for another: what follows must find the outbox full.
    if (outbox.run_count == Outbox::kRuns) outbox.bytes = Outbox::kMaxBytes;
  }
  outbox.latest = &outbox.runs[place];
  return outbox.latest;
}

// Puts a block of another thread's slab into this thread's outbox. True if that is full now.
inline bool put_into_outbox(Heap* heap, Span* slab, void* p) {
  Block* const block = static_cast<Block*>(p);
  Outbox& outbox = heap->outbox;
  Run* run = outbox.latest;
  if (run == nullptr || run->slab != slab) run = find_run(outbox, slab, block);
  block->next = run->first;
  run->first = block;
  ++run->count;
  constexpr std::uint32_t kLeast = Outbox::kMaxBytes / Outbox::kMaxBlocks;
  outbox.bytes += std::max(slab->layout().block_size, kLeast);
  return outbox.bytes >= Outbox::kMaxBytes;
}

// The same, checks the block before and sends what there is if it is full.
inline void send_later(Heap* heap, Span* slab, void* block) {
  check_block("free", slab, block);
  if (put_into_outbox(heap, slab, block)) [[unlikely]]
    send_all(heap);
}

// Sends a single block, for a thread that has no heap.
void send_now(Span* slab, void* block);

// Frees what others have sent to `heap`; called by its owner.
void receive(Heap* heap);

// Frees what others have sent to a heap without a thread. The caller holds orphans_lock; only
// receive_for_idle() calls it.
void receive_into_orphans(Heap* heap);

// Calls `visit(context, block, count)` with a block of each run for what others have sent to
// `heap`, the calling thread's, and stays there; for a bounded part of it if that is much. The
// caller holds orphans_lock, lest the inbox be emptied meanwhile by a sender that has seen the heap
// idle.
void visit_inbox(const Heap& heap,
                 void (*visit)(void* context, const void* block, std::uint32_t count),
                 void* context);

}  // namespace corbel::alloc
