// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/remote.hpp"

#include "alloc/heap/bin.hpp"
#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/span_heap.hpp"

namespace corbel::alloc {

namespace {

// The header of a batch that is being sent. It is stored in the batch's first block.
struct __attribute__((may_alias)) BatchHeader {
  // The low 48 bits hold the address of the next header in the chain. The high 16 bits describe the
  // rest of the batch; 0 means that the batch has one block. In a block with room for the whole
  // header, they are the number of further blocks. In a block of 8 bytes, which has room for this
  // word only, they are the number of the second block in the slab, plus 1.
  std::uintptr_t link;
  std::uint32_t second;  // the number of the second block in the slab
  std::uint32_t last;    // the number of the last one
};

// The rest of the header of a batch of blocks of 8 bytes, stored in its second block.
struct __attribute__((may_alias)) HeaderRest {
  std::uint16_t third;  // the number of the third block in the slab, plus 1; 0: there is none
  std::uint16_t last;   // the number of the last block
  std::uint32_t count;  // of the whole batch
};
static_assert(sizeof(HeaderRest) == kSizeClasses[0].block_size);

constexpr unsigned kRestShift = 48;
constexpr std::uintptr_t kAddressMask = sync::Inbox::kAddressMask;
static_assert(arch::kAddressBits <= kRestShift);
static_assert(Outbox::kMaxBlocks < 1U << (64 - kRestShift));
static_assert(kUnit / sizeof(Block) < 1U << (64 - kRestShift));

bool has_short_header(const Span* slab) { return slab->layout().block_size < sizeof(BatchHeader); }

std::uint32_t number_of(const Span* slab, const Block* block) {
  const auto offset = std::uint32_t(reinterpret_cast<const char*>(block) - slab->start());
  return slab->layout().block_at(offset);
}

Block* block_with(const Span* slab, std::uint32_t number) {
  return reinterpret_cast<Block*>(slab->start() + std::size_t(number) * slab->layout().block_size);
}

// Writes the header of a batch. It does not link to another header yet.
BatchHeader* write_header(const Batch& batch) {
  // The end of the list has a successor only if the block that was put in first was put in again.
  if (batch.last->next != nullptr) die("free", "the block was freed twice", batch.last);
  Block* const second = batch.first->next;
  if (second == batch.first) die("free", "the block was freed twice", second);
  auto* header = reinterpret_cast<BatchHeader*>(batch.first);
  if (batch.count == 1) {
    header->link = 0;
  } else if (has_short_header(batch.slab)) {
    const Block* const third = second->next;
    if (third == second || third == batch.first) die("free", "the block was freed twice", third);
    header->link = std::uintptr_t(number_of(batch.slab, second) + 1) << kRestShift;
    *reinterpret_cast<HeaderRest*>(second) = {
        .third = std::uint16_t(third != nullptr ? number_of(batch.slab, third) + 1 : 0),
        .last = std::uint16_t(number_of(batch.slab, batch.last)),
        .count = batch.count};
  } else {
    header->link = std::uintptr_t(batch.count - 1) << kRestShift;
    header->second = number_of(batch.slab, second);
    header->last = number_of(batch.slab, batch.last);
  }
  return header;
}

// The slab of a free block that another thread has sent or that was borrowed. Ends the process if
// it is no block: the program has overwritten the link that leads to it.
Span* slab_of(void* block) {
  Span* const slab = slab_head(find_span(block));
  if (slab->tag() < span_tag::kFirstHeap || !begins_block(slab, block)) [[unlikely]]
    die_of_link(static_cast<Block*>(block));
  return slab;
}

// As block_with(), for a number from a header. Ends the process if the slab has no such block: the
// program has overwritten the part of the header that is stored in `holder`.
Block* sent_block(const Span* slab, std::uint32_t number, const Block* holder) {
  if (number >= slab->blocks.carved.peek()) [[unlikely]]
    die_of_link(holder);
  return block_with(slab, number);
}

// Undoes write_header(). `link` is header->link, which the caller has read.
Batch read_header(BatchHeader* header, std::uintptr_t link) {
  Span* const slab = slab_of(header);
  Batch batch = Batch::of_one(slab, header);
  const auto rest = std::uint32_t(link >> kRestShift);
  if (rest == 0) {
    batch.first->next = nullptr;
  } else if (!has_short_header(slab)) {
    batch.last = sent_block(slab, header->last, batch.first);
    batch.first->next = sent_block(slab, header->second, batch.first);
    batch.count = rest + 1;
  } else {
    Block* const second = sent_block(slab, rest - 1, batch.first);
    const HeaderRest numbers = *reinterpret_cast<const HeaderRest*>(second);
    if (numbers.count < 2 || numbers.count > Outbox::kMaxBlocks ||
        (numbers.count == 2) != (numbers.third == 0)) [[unlikely]] {
      die_of_link(second);
    }
    batch.last = sent_block(slab, numbers.last, second);
    batch.first->next = second;
    second->next = numbers.third != 0 ? sent_block(slab, numbers.third - 1U, second) : nullptr;
    batch.count = numbers.count;
  }
  return batch;
}

// How many blocks the batch has.
std::uint32_t count_of(const BatchHeader* header, std::uintptr_t link) {
  const Span* const slab = slab_head(find_span(header));
  const auto rest = std::uint32_t(link >> kRestShift);
  if (rest == 0 || !has_short_header(slab)) return rest + 1;
  return reinterpret_cast<const HeaderRest*>(block_with(slab, rest - 1))->count;
}

// A chain of batches for one owner. New headers are added at the front.
struct Chain {
  Heap* owner = nullptr;
  BatchHeader* first = nullptr;
  BatchHeader* last = nullptr;

  void add(BatchHeader* header) {
    header->link |= reinterpret_cast<std::uintptr_t>(first);
    first = header;
    if (last == nullptr) last = header;
  }
};

// True if the caller must empty the owner's inbox.
bool push(const Chain& chain) {
  return chain.owner->inbox.push(reinterpret_cast<std::uintptr_t>(chain.first), &chain.last->link);
}

void send(const Chain& chain) {
  if (!push(chain)) return;
  {
    sync::LockGuard guard(orphans_lock);
    receive_into_orphans(chain.owner);
  }
  span_heap.purge_due();
}

// Sorts batches into one chain per owner, in a small hash table. On a collision, the chain that is
// in the entry is sent to make room.
class Sorter {
 public:
  explicit Sorter(Heap* self) : self_(self) {}

  void add(const Batch& batch) {
    // The owner may change at any time. A heap that receives a batch of a slab it does not own
    // sends the batch on.
    Heap* owner = owner_of(batch.slab->tag());
    if (owner == self_) {
      // This heap adopted the slab while the blocks were in the outbox.
      free_owned(self_, batch);
      return;
    }
    Chain& chain = chains_[(reinterpret_cast<std::uintptr_t>(owner) / sizeof(Heap)) % kChains];
    if (chain.owner != owner) {
      if (chain.owner != nullptr) send(chain);
      chain = Chain{.owner = owner};
    }
    chain.add(write_header(batch));
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

// Frees a received batch, or sends it on if `heap` does not own its slab. Requires: `heap` is the
// calling thread's, or it is the orphan heap and the caller holds orphans_lock.
void accept(Heap* heap, const Batch& batch) {
  Heap* owner = owner_of(batch.slab->tag());
  if (owner == heap) {
    free_owned(heap, batch);
    return;
  }
  Chain chain{.owner = owner};
  chain.add(write_header(batch));
  if (heap != &orphan_heap) {
    send(chain);
  } else if (push(chain)) {
    receive_into_orphans(owner);  // send() would take the lock, which is held already
  }
}

void receive_into(Heap* from, Heap* to) {
  std::uintptr_t link = from->inbox.take_all();
  while ((link & kAddressMask) != 0) {
    auto* header = reinterpret_cast<BatchHeader*>(link & kAddressMask);
    link = header->link;
    __builtin_prefetch(reinterpret_cast<void*>(link & kAddressMask));
    accept(to, read_header(header, link));
  }
}

}  // namespace

void send_now(Span* slab, void* p) {
  check_block("free", slab, p);
  Chain chain{.owner = owner_of(slab->tag())};
  static_cast<Block*>(p)->next = nullptr;
  chain.add(write_header(Batch::of_one(slab, p)));
  send(chain);
}

bool send_outbox(Heap* heap) {
  Outbox& outbox = heap->outbox;
  if (outbox.batch_count == 0) return false;
  SlowPath slow_path(heap);
  Sorter sorter(heap);
  for (std::uint32_t i = 0; i < outbox.batch_count; ++i) sorter.add(outbox.batches[i]);
  outbox.latest = nullptr;
  outbox.batch_count = 0;
  outbox.bytes = 0;
  sorter.send_rest();
  return true;
}

namespace {

void send_borrowed(Heap* heap, Block* list) {
  std::size_t depth = list != nullptr ? depth_of(list) : 0;
  for (Block* next; list != nullptr; list = next, --depth) {
    if (depth_of(list) != depth) die("free", "the block was freed twice", list);
    next = list->next;
    send_later(heap, slab_of(list), list);
  }
}

}  // namespace

bool send_all(Heap* heap) {
  bool found = false;
  for (Bin& bin : heap->bins) {
    bin.borrow_capacity = 0;
    bin.sent = 0;
    if (!bin.list_is_borrowed) continue;
    Block* const borrowed = bin.list;
    if (heap->sampler != nullptr) {
      heap->sampler->refund(heap->class_of_bin(bin), borrowed_count(bin));
    }
    restore_own_list(&bin);
    found = found || borrowed != nullptr;
    send_borrowed(heap, borrowed);
  }
  heap->borrow_capacity_bytes = 0;
  return send_outbox(heap) || found;
}

void receive(Heap* heap) { receive_into(heap, heap); }

void receive_into_orphans(Heap* heap) {
  receive_into(heap, &orphan_heap);
  publish_adoptable();
}

void tidy_orphans() {
  {
    sync::LockGuard guard(orphans_lock);
    receive_into_orphans(&orphan_heap);
  }
  span_heap.purge_due();
}

void visit_inbox(const Heap& heap,
                 void (*visit)(void* context, const void* block, std::uint32_t count),
                 void* context) {
  constexpr int kMaxHeaders = 4096;
  std::uintptr_t link = heap.inbox.first();
  for (int i = 0; i < kMaxHeaders && (link & kAddressMask) != 0; ++i) {
    const auto* header = reinterpret_cast<const BatchHeader*>(link & kAddressMask);
    link = header->link;
    visit(context, header, count_of(header, link));
  }
}

}  // namespace corbel::alloc
