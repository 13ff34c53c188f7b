// SPDX-License-Identifier: Apache-2.0
#include "alloc/remote.hpp"

#include "alloc/orphans.hpp"
#include "alloc/page_map.hpp"
#include "alloc/slab.hpp"
#include "alloc/span_heap.hpp"

namespace corbel::alloc {

namespace {

constexpr std::uintptr_t kCountMask = ~sync::Inbox::kAddressMask;
constexpr std::size_t kMaxCarried = 7;

struct Carrier {
  std::uintptr_t link;  // next carrier | number of entries in `blocks`
  void* blocks[kMaxCarried];
};

// A chain under construction: new carriers go to the front.
struct Chain {
  Heap* owner = nullptr;
  Carrier* first = nullptr;
  Carrier* last = nullptr;
  std::size_t room = 0;  // entries that `first` can still take

  void add(void* block, std::size_t block_size) {
    if (room > 0) {
      first->blocks[first->link & kCountMask] = block;
      ++first->link;
      --room;
      return;
    }
    Carrier* carrier = static_cast<Carrier*>(block);
    carrier->link = reinterpret_cast<std::uintptr_t>(first);
    first = carrier;
    if (last == nullptr) last = carrier;
    room = block_size / sizeof(void*) - 1;
    if (room > kMaxCarried) room = kMaxCarried;
  }
};

// True if somebody must empty the owner's inbox in his place.
bool push(const Chain& chain) {
  return chain.owner->inbox.push(reinterpret_cast<std::uintptr_t>(chain.first), &chain.last->link);
}

void send(const Chain& chain) {
  if (!push(chain)) return;
  {
    sync::LockGuard guard(orphans_lock);
    receive_for_idle(chain.owner);
  }
  span_heap.purge_due();
}

// Chains by owner. An owner that finds its place taken makes the other go first.
class Sorter {
 public:
  explicit Sorter(Heap* self) : self_(self) {}

  void add(void* block) {
    Span* slab = slab_head(find_span(block));
    // Only a hint where to send: who receives a block that is not his sends it on.
    Heap* owner = owner_of(slab->tag());
    if (owner == self_) {
      // The slab was adopted while the block waited.
      free_owned(self_, slab, block);
      return;
    }
    Chain& chain = chains_[(reinterpret_cast<std::uintptr_t>(owner) / sizeof(Heap)) % kChains];
    if (chain.owner != owner) {
      if (chain.owner != nullptr) send(chain);
      chain = Chain{.owner = owner};
    }
    chain.add(block, slab->layout().block_size);
  }

  void send_rest() {
    for (const Chain& chain : chains_) {
      if (chain.owner != nullptr) send(chain);
    }
  }

 private:
  static constexpr std::size_t kChains = 32;
  Heap* self_;
  Chain chains_[kChains];
};

// Frees one received block into `heap`, which must be the calling thread's, or the orphan heap with
// its lock held; sends it on if its slab has a new owner.
void accept(Heap* heap, void* block) {
  Span* slab = slab_head(find_span(block));
  Heap* owner = owner_of(slab->tag());
  if (owner == heap) {
    free_owned(heap, slab, block);
    return;
  }
  Chain chain{.owner = owner};
  chain.add(block, slab->layout().block_size);
  if (heap != &orphan_heap) {
    send(chain);
  } else if (push(chain)) {
    receive_for_idle(owner);  // the lock that send() would take is held
  }
}

void receive_into(Heap* from, Heap* to) {
  std::uintptr_t link = from->inbox.take_all();
  while ((link & ~kCountMask) != 0) {
    Carrier* carrier = reinterpret_cast<Carrier*>(link & ~kCountMask);
    link = carrier->link;
    const std::size_t count = link & kCountMask;
    if ((link & ~kCountMask) != 0) __builtin_prefetch(reinterpret_cast<void*>(link & ~kCountMask));
    for (std::size_t i = 0; i < count; ++i) accept(to, carrier->blocks[i]);
    accept(to, carrier);
  }
}

}  // namespace

void send_later(Heap* heap, Span* slab, void* block) {
  check_block("free", slab, block);
  Outbox& outbox = heap->outbox;
  outbox.blocks[outbox.count++] = block;
  outbox.bytes += slab->layout().block_size;
  if (outbox.count == Outbox::kCapacity || outbox.bytes >= Outbox::kMaxBytes) send_all(heap);
}

void send_now(Span* slab, void* block) {
  check_block("free", slab, block);
  Chain chain{.owner = owner_of(slab->tag())};
  chain.add(block, slab->layout().block_size);
  send(chain);
}

bool send_all(Heap* heap) {
  Outbox& outbox = heap->outbox;
  if (outbox.count == 0) return false;
  Sorter sorter(heap);
  for (std::uint32_t i = 0; i < outbox.count; ++i) sorter.add(outbox.blocks[i]);
  outbox.count = 0;
  outbox.bytes = 0;
  sorter.send_rest();
  return true;
}

void receive(Heap* heap) { receive_into(heap, heap); }

void receive_into_orphans(Heap* heap) { receive_into(heap, &orphan_heap); }

void visit_inbox(const Heap& heap, void (*visit)(void* context, void* block), void* context) {
  constexpr int kMostCarriers = 4096;
  std::uintptr_t link = heap.inbox.first();
  for (int i = 0; i < kMostCarriers && (link & ~kCountMask) != 0; ++i) {
    Carrier* carrier = reinterpret_cast<Carrier*>(link & ~kCountMask);
    link = carrier->link;
    const std::size_t count = link & kCountMask;
    for (std::size_t j = 0; j < count; ++j) visit(context, carrier->blocks[j]);
    visit(context, carrier);
  }
}

}  // namespace corbel::alloc
