// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/slab.hpp"

#include "alloc/heap/slab_pages.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/pages/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// If a limit is near, gives back the pages after the last block of a slab that was cut from a dirty
// span. Returns their size, 0 if they stay committed.
std::size_t give_back_rest(const Span* slab) {
  const SizeClass& layout = slab->layout();
  const std::size_t blocks = std::size_t(layout.capacity) * layout.block_size;
  const std::size_t rest = slab->bytes() - align_up(blocks, os::page_size());
  if (rest == 0 || !footprint.is_near_ceiling()) return 0;
  char* const start = slab->start() + slab->bytes() - rest;
  if (!os::decommit(start, rest)) return 0;
  keep_decommitted(start, rest);
  footprint.release(rest);
  return rest;
}

}  // namespace

Span* new_slab(unsigned size_class, std::uintptr_t tag, bool sparse, std::size_t* shortage) {
  const SizeClass& layout = kSizeClasses[size_class];
  SpanRequest request{.units = layout.units, .for_slab = true, .sparse = sparse};
  Span* slab = span_heap.allocate(request);
  *shortage = request.shortage;
  if (slab == nullptr) return nullptr;
  slab->blocks = {};
  slab->size_class = std::uint8_t(size_class);
  slab->decommitted = {};
  slab->visit = {.used = SlabVisit::kNever, .number = 0};
  slab->committed = slab->zeroed ? 0 : std::uint32_t(slab->bytes() - give_back_rest(slab));
  for (std::uint32_t i = 1; i < layout.units; ++i) {
    Span* unit = find_span(slab->start() + i * kUnit);
    unit->head_distance = i;
    unit->decommitted = {};
    unit->set_tag(span_tag::kFollower);
  }
  slab->set_tag(tag);
  return slab;
}

bool release_slab(Span* slab) {
  bool any_decommitted = false;
  for (std::uint32_t i = 0; i < slab->units; ++i) {
    Span* unit = find_span(slab->start() + i * kUnit);
    unit->set_tag(span_tag::kInterior);
    any_decommitted = any_decommitted || unit->decommitted.pages != 0;
  }
  if (!any_decommitted && slab->committed == slab->bytes() && !slab->zeroed)
    return span_heap.free(slab);
  set_dirty(slab, slab->units, slab->committed);
  for (std::uint32_t i = 0; any_decommitted && i < slab->units; ++i) {
    const Span* unit = find_span(slab->start() + i * kUnit);
    clear_dirty(unit, unit->decommitted.pages);
  }
  return span_heap.free_pages(slab);
}

namespace {

std::uint32_t blocks_to_carve(const Span* slab) {
  const SizeClass& layout = slab->layout();
  const std::uint32_t left = layout.capacity - slab->blocks.carved.get();
  return left < layout.carve ? left : layout.carve;
}

// Links blocks in address order. Returns the first and puts the others on `rest`. Does not write to
// the first block, so a single block is not touched at all.
Block* link(const Span* slab, BlockRange range, Block** rest) {
  const std::uint32_t size = slab->layout().block_size;
  char* const first = slab->start() + std::size_t(range.first) * size;
  if (range.count > 1) {
    char* const last = first + std::size_t(range.count - 1) * size;
    for (char* p = first + size; p != last; p += size) {
      reinterpret_cast<Block*>(p)->next = reinterpret_cast<Block*>(p + size);
    }
    reinterpret_cast<Block*>(last)->next = nullptr;
    *rest = reinterpret_cast<Block*>(first + size);
  }
  return reinterpret_cast<Block*>(first);
}

}  // namespace

Block* ready_blocks(Span* slab, std::size_t early, Block** rest, bool* zeroed,
                    std::size_t* shortage) {
  BlockRange range;
  if (slab->decommitted.blocks != 0) {
    if (!recommit_blocks(slab, &range, shortage)) return nullptr;
  } else {
    range = {slab->blocks.carved.get(), blocks_to_carve(slab)};
    if (!commit_blocks(slab, range, early, shortage)) return nullptr;
    *zeroed = slab->zeroed;
    slab->blocks.carved.add(range.count);
  }
  slab->blocks.used.add(range.count);
  return link(slab, range, rest);
}

void die_of_block(const char* function, const Span* slab, const void* block) {
  const auto offset = std::uint32_t(static_cast<const char*>(block) - slab->start());
  die(function,
      slab->layout().block_at(offset) < slab->layout().capacity
          ? "the block was never allocated"
          : "the pointer is not the start of a block",
      block);
}

void die_of_link(const Block* block) {
  die("free", "the block was freed twice, or written to after it was freed", block);
}

}  // namespace corbel::alloc
