// SPDX-License-Identifier: Apache-2.0
#include "alloc/slab.hpp"

#include <algorithm>

#include "alloc/dirty_pages.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/footprint.hpp"
#include "alloc/helper.hpp"
#include "alloc/orphans.hpp"
#include "alloc/reclaim.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab_pages.hpp"
#include "alloc/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Empty slabs a heap keeps, so that a loop over one block does not fetch and return a slab each
// time: 1 MiB, of which only what was touched is resident.
constexpr std::uint32_t kKeptUnits = 16;

// Fresh pages are entered several at a time, up to a slab's, as long as they are so small a part of
// what the bin has entered before; not those of larger blocks, which may never be asked for.
constexpr std::size_t kEnterShare = 16;
constexpr std::size_t kLargestEnteredEarly = 2048;

Bin* bin_of(Heap* heap, const Span* slab) { return &heap->bins[slab->size_class]; }

// Where the pages end, from the slab's beginning, that its first `blocks` blocks lie in.
std::size_t end_of_blocks(const Span* slab, std::uint32_t blocks) {
  return align_up(std::size_t(blocks) * slab->layout().block_size, os::page_size());
}

std::uint32_t blocks_to_carve(const Span* slab) {
  const SizeClass& layout = slab->layout();
  const std::uint32_t left = layout.capacity - slab->blocks.carved.get();
  return left < layout.carve ? left : layout.carve;
}

// Makes a page's worth of new blocks. They are linked in the order of their addresses; a block of
// a page or more comes alone, so that nothing of it is touched.
Block* carve(Bin* bin, Span* slab) {
  const SizeClass& layout = slab->layout();
  SlabBlocks& blocks = slab->blocks;
  const std::uint32_t count = blocks_to_carve(slab);
  unpurge(slab, blocks.carved.get(), count);
  char* first = slab->start() + std::size_t(blocks.carved.get()) * layout.block_size;
  blocks.carved.add(count);
  blocks.used.add(count);
  char* last = first + std::size_t(count - 1) * layout.block_size;
  for (char* p = first; p != last; p += layout.block_size) {
    reinterpret_cast<Block*>(p)->next = reinterpret_cast<Block*>(p + layout.block_size);
  }
  if (count > 1) {
    reinterpret_cast<Block*>(last)->next = nullptr;
    bin->list = reinterpret_cast<Block*>(first)->next;
  }
  return reinterpret_cast<Block*>(first);
}

// How far the pages must be entered for the next carve().
std::size_t least_to_enter(const Span* slab) {
  const std::size_t end = end_of_blocks(slab, slab->blocks.carved.get() + blocks_to_carve(slab));
  return std::max<std::size_t>(end, slab->entered);
}

// How far they are entered if there is room: where the bin has much already, several pages for one
// call of the system instead of a fault for each.
std::size_t best_to_enter(const Bin* bin, const Span* slab) {
  const std::size_t least = least_to_enter(slab);
  const std::size_t batch =
      align_down(std::size_t(bin->entered_kib) * 1024 / kEnterShare, os::page_size());
  if (least == slab->entered || slab->layout().block_size > kLargestEnteredEarly) return least;
  const std::size_t end = end_of_blocks(slab, slab->layout().capacity);
  return std::max(least, std::min(slab->entered + batch, end));
}

// What the next carve() brings into the footprint if it enters the pages up to `end`.
std::size_t bytes_to_carve(Span* slab, std::size_t end) {
  const std::size_t purged = purged_under(slab, slab->blocks.carved.get(), blocks_to_carve(slab));
  return purged + end - slab->entered;
}

// How far the program is likely to write to what is carved next, which ends at `end`. A larger
// block may be a buffer of which little is ever used: what has become of the slab's first one
// tells, whose pages came only as they were written to.
std::size_t likely_written(const Span* slab, std::size_t end) {
  const std::size_t page = os::page_size();
  const std::size_t size = slab->layout().block_size;
  if (size <= kLargestEnteredEarly) return end;
  const std::uint32_t carved = slab->blocks.carved.get();
  if (carved == 0 || size < 2 * page) return slab->entered;
  // The shortest request of the class that asks for no alignment has this byte.
  const std::size_t last = kSizeClasses[slab->size_class - 1U].block_size;
  // With it, or in front of it where the next block begins in the same page.
  char* const sample = slab->start() + align_down(std::min(last, size - page), page);
  if (!os::is_resident(sample)) return slab->entered;
  return std::min(end, align_up(carved * size + last + 1, page));
}

// Enters the pages up to `end`, which are counted, and makes those resident that are needed at
// once; the others come as they are written to.
void enter_pages(Bin* bin, Span* slab, std::size_t end) {
  const std::size_t bytes = end - slab->entered;
  if (bytes > os::page_size()) {
    const std::size_t written = likely_written(slab, end);
    if (written > slab->entered)
      os::populate(slab->start() + slab->entered, written - slab->entered);
  }
  bin->entered_kib += std::uint32_t(bytes / 1024);
  slab->entered = std::uint32_t(end);
}

Span* new_slab(Heap* heap, unsigned size_class, std::size_t* shortage) {
  const SizeClass& layout = kSizeClasses[size_class];
  Bin& bin = heap->bins[size_class];
  SpanRequest request{.units = layout.units, .for_slab = true};
  request.sparse = bin.entered_kib < layout.units * kUnit / 1024;
  Span* slab = span_heap.allocate(request);
  *shortage = request.shortage;
  if (slab == nullptr) return nullptr;
  slab->blocks = {};
  slab->size_class = std::uint8_t(size_class);
  slab->purged = {};
  slab->visit = {.used = SlabVisit::kNever, .number = 0};
  slab->entered = slab->zeroed ? 0 : std::uint32_t(slab->bytes());
  bin.entered_kib += slab->entered / 1024;
  for (std::uint32_t i = 1; i < layout.units; ++i) {
    Span* unit = find_span(slab->start() + i * kUnit);
    unit->head_distance = i;
    unit->purged = {};
    unit->set_tag(span_tag::kFollower);
  }
  slab->set_tag(heap->tag());
  return slab;
}

// True if purge_due() should be called when no lock is held.
bool release_slab(Heap* heap, Span* slab) {
  Bin* const bin = bin_of(heap, slab);
  bin->entered_kib -= std::min(bin->entered_kib, slab->entered / 1024);
  bool purged = false;
  for (std::uint32_t i = 0; i < slab->units; ++i) {
    Span* unit = find_span(slab->start() + i * kUnit);
    unit->set_tag(span_tag::kInterior);
    purged = purged || unit->purged.pages != 0;
  }
  if (!slab->zeroed && !purged) return span_heap.free(slab);
  set_dirty(slab, slab->units, slab->entered);
  for (std::uint32_t i = 0; purged && i < slab->units; ++i) {
    const Span* unit = find_span(slab->start() + i * kUnit);
    clear_dirty(unit, unit->purged.pages);
  }
  return span_heap.free_pages(slab);
}

}  // namespace

void SlabList::push_back(Span* slab) {
  slab->prev = last;
  slab->next = nullptr;
  (last != nullptr ? last->next : first) = slab;
  last = slab;
}

void SlabList::remove(Span* slab) {
  (slab->prev != nullptr ? slab->prev->next : first) = slab->next;
  (slab->next != nullptr ? slab->next->prev : last) = slab->prev;
}

namespace {

// Takes an available slab.
void make_current(Heap* heap, Bin* bin, Span* slab) {
  bin->available.remove(slab);
  const bool counted = counts_as_empty(bin, slab);
  bin->set_current(slab);
  if (counted && !counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
}

// Where a limit leaves no room for the next page of the current slab, a slab behind it may have
// blocks that were freed. Makes such a slab the current one; false if there is none.
bool pass_over(Heap* heap, Bin* bin) {
  Span* freed = bin->available.first;
  while (freed != nullptr && freed->blocks.freed == nullptr) freed = freed->next;
  if (freed == nullptr) return false;
  Span* slab = bin->current;
  // Of one unit, and all its blocks purged: empty, but not counted while it was current.
  const bool counted = counts_as_empty(bin, slab);
  bin->available.push_back(slab);
  make_current(heap, bin, freed);
  if (!counted && counts_as_empty(bin, slab)) heap->empty_units += slab->units;
  return true;
}

// Blocks of the current slab, whose list is empty: first those that were purged, lest a slab spread
// over more pages than it needs. nullptr when there was no room to commit `shortage` bytes.
Block* enter(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage) {
  Span* slab = bin->current;
  const bool counted = counts_as_empty(bin, slab);
  Block* block;
  if (slab->purged.blocks != 0) {
    *shortage = bytes_to_restore(slab);
    if (!footprint.try_commit(*shortage)) return nullptr;
    block = restore(bin, slab);
  } else {
    std::size_t end = best_to_enter(bin, slab);
    if (!footprint.try_commit(bytes_to_carve(slab, end))) {
      end = least_to_enter(slab);
      *shortage = bytes_to_carve(slab, end);
      if (!footprint.try_commit(*shortage)) return nullptr;
    }
    enter_pages(bin, slab, end);
    *zeroed = slab->zeroed;
    block = carve(bin, slab);
  }
  *shortage = 0;
  if (counted) heap->empty_units -= slab->units;
  return block;
}

}  // namespace

Block* refill(Heap* heap, Bin* bin, bool* zeroed, std::size_t* shortage) {
  *shortage = 0;
  if (heap->inbox.has_any()) receive(heap);
  if (flush_is_wanted(heap)) flush_thread(heap);
  // A program that only reuses its blocks would otherwise never give back what it freed before.
  if (++heap->refills % kRefillsPerPurge == 0) span_heap.purge_if_due();
  const unsigned size_class = heap->class_of_bin(*bin);
  *zeroed = false;
  for (;;) {
    Span* slab = bin->current;
    if (slab != nullptr) {
      if (slab->blocks.freed != nullptr) return take_freed(heap, bin);
      if (slab->purged.blocks != 0 || slab->blocks.carved.get() < slab->layout().capacity) {
        Block* block = enter(heap, bin, zeroed, shortage);
        if (block != nullptr || !pass_over(heap, bin)) return block;
        *shortage = 0;
        continue;
      }
      slab->set_tag(heap->tag() | span_tag::kFull);
      bin->full.push_back(slab);
    }
    slab = bin->available.first;
    if (slab != nullptr) {
      make_current(heap, bin, slab);
      continue;
    }
    slab = adopt_slab(heap, size_class);
    if (slab == nullptr) slab = new_slab(heap, size_class, shortage);
    bin->set_current(slab);
    if (slab == nullptr) return nullptr;
  }
}

namespace {

void release_other_currents(Heap* heap, const Bin* kept) {
  for (Bin& bin : heap->bins) {
    if (&bin == kept || bin.current == nullptr) continue;
    if (counts_as_empty(&bin, bin.current)) return_current(heap, &bin);
  }
}

}  // namespace

void slab_emptied(Heap* heap, Span* slab) noexcept {
  Bin* bin = bin_of(heap, slab);
  if (!counts_as_empty(bin, slab)) return;
  if (heap != &orphan_heap && heap->empty_units + slab->units <= kKeptUnits) {
    heap->empty_units += slab->units;
    return;
  }
  SlowPath slow_path(heap);
  if (slab == bin->current) {
    // The bin that is being used keeps its slab at the expense of those that are not.
    release_other_currents(heap, bin);
    heap->empty_units += slab->units;
    return;
  }
  bin->available.remove(slab);
  // The orphan heap is worked on under its lock, and the system is called under none.
  const bool is_due = release_slab(heap, slab);
  if (heap == &orphan_heap) return;
  if (is_due) span_heap.purge_due();
  call_helper(MayStart::kNo);
}

void free_owned(Heap* heap, const Run& run) {
  Span* const slab = run.slab;
  if (slab->is_full()) {
    Bin* bin = bin_of(heap, slab);
    bin->full.remove(slab);
    bin->available.push_back(slab);
    slab->set_tag(heap->tag());
  }
  run.last->next = slab->blocks.freed;
  slab->blocks.freed = run.first;
  slab->blocks.used.set(slab->blocks.used.get() - run.count);
  if (slab->blocks.used.get() == 0) slab_emptied(heap, slab);
}

void return_current(Heap* heap, Bin* bin) {
  Span* slab = bin->current;
  if (slab == nullptr) return;
  if (counts_as_empty(bin, slab)) heap->empty_units -= slab->units;
  if (Block* const first = bin->list) {
    std::uint32_t count = 1;
    Block* last = first;
    for (; last->next != nullptr; last = last->next) {
      if (++count > slab->layout().capacity) {
        die("free", "the list of free blocks leads in a circle", last);
      }
    }
    last->next = slab->blocks.freed;
    slab->blocks.freed = first;
    slab->blocks.used.set(slab->blocks.used.get() - count);
    bin->list = nullptr;
  }
  bin->set_current(nullptr);
  if (slab->blocks.used.get() == 0) {
    release_slab(heap, slab);
  } else {
    adopt(heap, slab);
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
      release_slab(heap, slab);
      found = true;
    }
  }
  return found;
}

void adopt(Heap* heap, Span* slab) {
  Bin* bin = bin_of(heap, slab);
  const bool gives = slab->blocks.freed != nullptr || slab->purged.blocks != 0 ||
                     slab->blocks.carved.get() < slab->layout().capacity;
  slab->set_tag(gives ? heap->tag() : heap->tag() | span_tag::kFull);
  (gives ? bin->available : bin->full).push_back(slab);
}

void die_of_block(const char* function, const Span* slab, const void* block) {
  const auto offset = std::uint32_t(static_cast<const char*>(block) - slab->start());
  die(function,
      slab->layout().block_at(offset) < slab->layout().capacity
          ? "the block was never allocated"
          : "the pointer is not the start of a block",
      block);
}

}  // namespace corbel::alloc
