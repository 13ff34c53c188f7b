// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/bin.hpp"

#include <algorithm>

#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/slab.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"

namespace corbel::alloc {

namespace {

// The units of empty slabs that a heap keeps, so that a program that repeatedly allocates and frees
// one block does not fetch and return a slab each time: 1 MiB, of which only the touched pages are
// resident.
constexpr std::uint32_t kMaxEmptyUnits = 16;

// The pages that are committed early are at most the bin's committed memory divided by this.
constexpr std::size_t kEarlyCommitDivisor = 16;

Bin* bin_of(Heap* heap, const Span* slab) { return &heap->bins[slab->size_class]; }

// ---- refill -------------------------------------------------------------------------------------

// Makes an available slab the current one.
void make_current(Heap* heap, Bin* bin, Span* slab) {
  bin->available.remove(slab);
  const bool counted = counts_as_empty(bin, slab);
  bin->current = slab;
  if (counted && !counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
}

// Called when a limit leaves no room for the next page of the current slab. Replaces the current
// slab by an available one that has freed blocks, which need no room. False if there is none.
bool pass_over(Heap* heap, Bin* bin) {
  Span* freed = bin->available.first;
  while (freed != nullptr && freed->blocks.freed == nullptr) freed = freed->next;
  if (freed == nullptr) return false;
  Span* slab = bin->current;
  // If all blocks of a one-unit slab are decommitted, the slab is empty. It does not count as empty
  // while it is current, but does from here on.
  const bool counted = counts_as_empty(bin, slab);
  bin->available.push_back(slab);
  make_current(heap, bin, freed);
  if (!counted && counts_as_empty(bin, slab)) heap->empty_units += slab->units;
  return true;
}

// Charges the bin for `count` blocks that were just taken from its current slab, the one that is
// handed out and those on the bin's list. Blocks from the next point on go back to the slab.
// Requires: the heap has a sampler, no sample was due, and the slab's free list is empty.
void charge_list(Heap* heap, Bin* bin, std::uint32_t count) {
  const std::uint32_t charged = heap->sampler->charge(heap->class_of_bin(*bin), count);
  if (charged == count) return;
  Block** end = &bin->list;
  for (std::uint32_t i = 1; i < charged && *end != nullptr; ++i) end = &(*end)->next;
  Span* const slab = bin->current;
  slab->blocks.freed = *end;
  slab->blocks.used.set(slab->blocks.used.get() - (count - charged));
  *end = nullptr;
}

// Takes decommitted or uncarved blocks of the current slab, whose free list is empty.
Block* take_unready(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage) {
  Span* const slab = bin->current;
  const bool counted = counts_as_empty(bin, slab);
  const std::uint32_t committed = slab->committed;
  const std::uint32_t used = slab->blocks.used.get();
  const std::size_t early = std::size_t(bin->committed_kib) * 1024 / kEarlyCommitDivisor;
  Block* const block = ready_blocks(slab, early, &bin->list, zeroed, shortage);
  if (block == nullptr) return nullptr;
  bin->committed_kib += (slab->committed - committed) / 1024;
  if (counted) heap->empty_units -= slab->units;
  if (heap->sampler != nullptr) [[unlikely]]
    charge_list(heap, bin, slab->blocks.used.get() - used);
  return block;
}

Span* make_slab(Heap* heap, Bin* bin, std::size_t* shortage) {
  const unsigned size_class = heap->class_of_bin(*bin);
  const bool sparse = bin->committed_kib < kSizeClasses[size_class].units * kUnit / 1024;
  Span* const slab = new_slab(size_class, heap->tag(), sparse, shortage);
  if (slab != nullptr) bin->committed_kib += slab->committed / 1024;
  return slab;
}

}  // namespace

Block* charge_freed(Heap* heap, Bin* bin, Block* first, std::uint32_t count) {
  Span* const slab = bin->current;
  // One comparison for nearly all lists: the next point lies after them.
  if (heap->sampler->charge_all(slab->size_class, count)) [[likely]]
    return first;
  if (!heap->sampler->is_due(slab->size_class)) {
    charge_list(heap, bin, count);
    return first;
  }
  bin->list = nullptr;
  slab->blocks.freed = first;
  slab->blocks.used.set(slab->blocks.used.get() - count);
  if (counts_as_empty(bin, slab)) heap->empty_units += slab->units;
  return nullptr;
}

Block* refill(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage) {
  *zeroed = false;
  begin_borrowing(heap, bin, false);
  for (;;) {
    Span* slab = bin->current;
    if (slab != nullptr) {
      if (slab->blocks.freed != nullptr) return take_freed(heap, bin);
      if (has_unready_blocks(slab)) {
        begin_borrowing(heap, bin, true);
        Block* const block = take_unready(heap, bin, zeroed, shortage);
        if (block != nullptr || !pass_over(heap, bin)) return block;
        return take_freed(heap, bin);
      }
      slab->set_tag(heap->tag() | span_tag::kFull);
      bin->full.push_back(slab);
    }
    slab = bin->available.first;
    if (slab != nullptr) {
      make_current(heap, bin, slab);
      continue;
    }
    slab = adopt_slab(heap, heap->class_of_bin(*bin));
    if (slab == nullptr && take_rested_heaps_apart()) {
      slab = adopt_slab(heap, heap->class_of_bin(*bin));
    }
    if (slab == nullptr) slab = make_slab(heap, bin, shortage);
    bin->current = slab;
    if (slab == nullptr) return nullptr;
  }
}

// ---- giving back --------------------------------------------------------------------------------

namespace {

// Gives an empty slab back to the span heap. True if purge_due() should be called as soon as no
// lock is held.
bool release(Bin* bin, Span* slab) {
  bin->committed_kib -= std::min(bin->committed_kib, slab->committed / 1024);
  return release_slab(slab);
}

void release_other_currents(Heap* heap, const Bin* kept) {
  for (Bin& bin : heap->bins) {
    if (&bin == kept || bin.current == nullptr) continue;
    if (counts_as_empty(&bin, bin.current)) return_current(heap, &bin);
  }
}

}  // namespace

void slab_emptied(Heap* heap, Span* slab) noexcept {
  Bin* bin = bin_of(heap, slab);
  if (!counts_as_empty(bin, slab) || os::other_threads_are_gone()) return;
  if (heap != &orphan_heap && heap->empty_units + slab->units <= kMaxEmptyUnits) {
    heap->empty_units += slab->units;
    return;
  }
  SlowPath slow_path(heap);
  if (slab == bin->current) {
    // This bin is in use, so it keeps its slab; the empty current slabs of all others go instead.
    release_other_currents(heap, bin);
    heap->empty_units += slab->units;
    return;
  }
  bin->available.remove(slab);
  // In the orphan heap, orphans_lock is held, under which the system must not be called.
  const bool is_due = release(bin, slab);
  if (heap == &orphan_heap) return;
  if (is_due) span_heap.purge_due();
  call_helper(MayStart::kNo);
}

void free_owned(Heap* heap, const Batch& batch) {
  Span* const slab = batch.slab;
  if (slab->is_full()) {
    Bin* bin = bin_of(heap, slab);
    bin->full.remove(slab);
    bin->available.push_back(slab);
    slab->set_tag(heap->tag());
  }
  if (slab->blocks.used.get() < batch.count) [[unlikely]]
    die_of_link(batch.first);
  batch.last->next = slab->blocks.freed;
  slab->blocks.freed = batch.first;
  slab->blocks.used.set(slab->blocks.used.get() - batch.count);
  if (slab->blocks.used.get() == 0) slab_emptied(heap, slab);
}

void return_current(Heap* heap, Bin* bin) {
  Span* slab = bin->current;
  if (slab == nullptr) return;
  if (counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
  Block*& list = bin->list_is_borrowed ? bin->own : bin->list;
  if (Block* const first = list) {
    std::uint32_t count = 1;
    Block* last = first;
    if (!is_carved_block(slab, first)) die_of_link(first);
    for (; last->next != nullptr; last = last->next) {
      check_link(slab, last);
      if (++count > slab->layout().capacity) {
        die("free", "the list of free blocks leads in a circle", last);
      }
    }
    if (slab->blocks.used.get() < count) die_of_link(first);
    last->next = slab->blocks.freed;
    slab->blocks.freed = first;
    slab->blocks.used.set(slab->blocks.used.get() - count);
    list = nullptr;
    if (heap->sampler != nullptr) heap->sampler->refund(heap->class_of_bin(*bin), count);
  }
  bin->current = nullptr;
  if (slab->blocks.used.get() == 0) {
    release(bin, slab);
  } else {
    heap->add_slab(slab);
  }
}

bool release_empty_slabs(Heap* heap) {
  bool found = false;
  for (Bin& bin : heap->bins) {
    if (bin.current != nullptr && bin.current->blocks.used.get() == 0) {
      return_current(heap, &bin);
      found = true;
    }
    Span* next;
    for (Span* slab = bin.available.first; slab != nullptr; slab = next) {
      next = slab->next;
      if (!counts_as_empty(&bin, slab)) continue;
      bin.available.remove(slab);
      heap->empty_units -= slab->units;
      release(&bin, slab);
      found = true;
    }
  }
  return found;
}

}  // namespace corbel::alloc
