// SPDX-License-Identifier: Apache-2.0
#include "alloc/remote.hpp"

#include "alloc/orphans.hpp"
#include "alloc/page_map.hpp"
#include "alloc/slab.hpp"
#include "alloc/span_heap.hpp"

namespace corbel::alloc {

namespace {

// A run on its way lies in its first block: the letter.
struct __attribute__((may_alias)) Letter {
  // The address of the next letter, and above it what is left of the run: how many blocks or, where
  // the letter has no room for more than this word, the number of the second one plus 1.
  std::uintptr_t link;
  std::uint32_t second;  // the numbers of these blocks in their slab
  std::uint32_t last;
};

constexpr unsigned kRestShift = 48;
constexpr std::uintptr_t kAddressMask = sync::Inbox::kAddressMask;
static_assert(arch::kAddressBits <= kRestShift);
static_assert(Outbox::kMaxBlocks < 1U << (64 - kRestShift));
static_assert(kUnit / sizeof(Block) < 1U << (64 - kRestShift));

bool is_short(const Span* slab) { return slab->layout().block_size < sizeof(Letter); }

std::uint32_t number_of(const Span* slab, const Block* block) {
  const auto offset = std::uint32_t(reinterpret_cast<const char*>(block) - slab->start());
  return slab->layout().block_at(offset);
}

Block* block_with(const Span* slab, std::uint32_t number) {
  return reinterpret_cast<Block*>(slab->start() + std::size_t(number) * slab->layout().block_size);
}

// The letter leads to no other yet.
Letter* seal(const Run& run) {
  // The first block that was put in, put in again, has made the end lead on.
  if (run.last->next != nullptr) die("free", "the block was freed twice", run.last);
  const Block* const second = run.first->next;
  auto* letter = reinterpret_cast<Letter*>(run.first);
  if (run.count == 1) {
    letter->link = 0;
  } else if (is_short(run.slab)) {
    letter->link = std::uintptr_t(number_of(run.slab, second) + 1) << kRestShift;
  } else {
    letter->link = std::uintptr_t(run.count - 1) << kRestShift;
    letter->second = number_of(run.slab, second);
    letter->last = number_of(run.slab, run.last);
  }
  return letter;
}

// Undoes seal(); `link` is the letter's.
Run unseal(Letter* letter, std::uintptr_t link) {
  Span* const slab = slab_head(find_span(letter));
  Run run = Run::of_one(slab, letter);
  const auto rest = std::uint32_t(link >> kRestShift);
  if (rest == 0) {
    run.first->next = nullptr;
    return run;
  }
  if (!is_short(slab)) {
    run.last = block_with(slab, letter->last);
    run.first->next = block_with(slab, letter->second);
    run.count = rest + 1;
    return run;
  }
  run.first->next = block_with(slab, rest - 1);
  while (run.last->next != nullptr) {
    run.last = run.last->next;
    if (++run.count > Outbox::kMaxBlocks) die("free", "the block was freed twice", run.last);
  }
  return run;
}

// How many blocks its run has.
std::uint32_t count_of(const Letter* letter, std::uintptr_t link) {
  const Span* const slab = slab_head(find_span(letter));
  const auto rest = std::uint32_t(link >> kRestShift);
  if (rest == 0 || !is_short(slab)) return rest + 1;
  std::uint32_t count = 1;
  for (const Block* b = block_with(slab, rest - 1); b != nullptr; b = b->next) {
    if (++count == Outbox::kMaxBlocks) break;
  }
  return count;
}

// A chain under construction: new letters go to the front.
struct Chain {
  Heap* owner = nullptr;
  Letter* first = nullptr;
  Letter* last = nullptr;

  void add(Letter* letter) {
    letter->link |= reinterpret_cast<std::uintptr_t>(first);
    first = letter;
    if (last == nullptr) last = letter;
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

  void add(const Run& run) {
    // Only a hint where to send: who receives a run that is not his sends it on.
    Heap* owner = owner_of(run.slab->tag());
    if (owner == self_) {
      // The slab was adopted while the blocks waited.
      free_owned(self_, run);
      return;
    }
    Chain& chain = chains_[(reinterpret_cast<std::uintptr_t>(owner) / sizeof(Heap)) % kChains];
    if (chain.owner != owner) {
      if (chain.owner != nullptr) send(chain);
      chain = Chain{.owner = owner};
    }
    chain.add(seal(run));
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

// Frees a received run into `heap`, which must be the calling thread's, or the orphan heap with its
// lock held; sends it on if its slab has a new owner.
void accept(Heap* heap, const Run& run) {
  Heap* owner = owner_of(run.slab->tag());
  if (owner == heap) {
    free_owned(heap, run);
    return;
  }
  Chain chain{.owner = owner};
  chain.add(seal(run));
  if (heap != &orphan_heap) {
    send(chain);
  } else if (push(chain)) {
    receive_for_idle(owner);  // the lock that send() would take is held
  }
}

void receive_into(Heap* from, Heap* to) {
  std::uintptr_t link = from->inbox.take_all();
  while ((link & kAddressMask) != 0) {
    auto* letter = reinterpret_cast<Letter*>(link & kAddressMask);
    link = letter->link;
    __builtin_prefetch(reinterpret_cast<void*>(link & kAddressMask));
    accept(to, unseal(letter, link));
  }
}

}  // namespace

void send_now(Span* slab, void* p) {
  check_block("free", slab, p);
  Chain chain{.owner = owner_of(slab->tag())};
  static_cast<Block*>(p)->next = nullptr;
  chain.add(seal(Run::of_one(slab, p)));
  send(chain);
}

bool send_all(Heap* heap) {
  Outbox& outbox = heap->outbox;
  if (outbox.run_count == 0) return false;
  SlowPath slow_path(heap);
  Sorter sorter(heap);
  for (std::uint32_t i = 0; i < outbox.run_count; ++i) sorter.add(outbox.runs[i]);
  outbox.latest = nullptr;
  outbox.run_count = 0;
  outbox.bytes = 0;
  sorter.send_rest();
  return true;
}

void receive(Heap* heap) { receive_into(heap, heap); }

void receive_into_orphans(Heap* heap) { receive_into(heap, &orphan_heap); }

void visit_inbox(const Heap& heap,
                 void (*visit)(void* context, const void* block, std::uint32_t count),
                 void* context) {
  constexpr int kMostLetters = 4096;
  std::uintptr_t link = heap.inbox.first();
  for (int i = 0; i < kMostLetters && (link & kAddressMask) != 0; ++i) {
    const auto* letter = reinterpret_cast<const Letter*>(link & kAddressMask);
    link = letter->link;
    visit(context, letter, count_of(letter, link));
  }
}

}  // namespace corbel::alloc
