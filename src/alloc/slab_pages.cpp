// SPDX-License-Identifier: Apache-2.0
#include "alloc/slab_pages.hpp"

#include <algorithm>
#include <bit>

#include "alloc/footprint.hpp"
#include "alloc/huge_pages.hpp"
#include "alloc/orphans.hpp"
#include "alloc/page_map.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr unsigned kBitBits = kUnitBits - 4;  // a bit of SlabPurged::pages stands for 4 KiB

constexpr std::size_t most(std::uint32_t SizeClass::* field) {
  std::size_t result = 0;
  for (const SizeClass& layout : kSizeClasses) {
    result = std::max<std::size_t>(result, layout.*field);
  }
  return result;
}
constexpr std::size_t kMostBlocks = most(&SizeClass::capacity);
constexpr std::size_t kMostUnits = most(&SizeClass::units);
static_assert(kMostBlocks < SlabVisit::kNever);

// Numbers of pages from the beginning of the slab, both included.
struct PageRange {
  std::uint32_t first;
  std::uint32_t last;
};

// How the pages of a slab lie to its blocks and units.
class Geometry {
 public:
  explicit Geometry(const Span* slab)
      : page_bits_(std::max(log2_floor(os::page_size()), kBitBits)),
        block_size_(slab->layout().block_size) {}

  std::size_t page_size() const { return std::size_t(1) << page_bits_; }
  std::uint32_t pages_of(std::uint32_t units) const { return units << (kUnitBits - page_bits_); }

  PageRange pages_of_blocks(std::uint32_t first, std::uint32_t count) const {
    const std::uint32_t begin = first * block_size_;
    return {begin >> page_bits_, (begin + count * block_size_ - 1) >> page_bits_};
  }
  std::uint32_t first_block_on(std::uint32_t page) const {
    return (page << page_bits_) / block_size_;
  }

  std::uint32_t unit_of(std::uint32_t page) const { return page >> (kUnitBits - page_bits_); }
  // A larger page is all the bits of its size.
  std::uint16_t bits_of(std::uint32_t page) const {
    const unsigned bits_a_page = 1U << (page_bits_ - kBitBits);
    const unsigned bits = (1U << bits_a_page) - 1;
    return std::uint16_t(bits << (page % pages_of(1) * bits_a_page));
  }
  std::uint32_t page_of_bit(unsigned bit) const { return bit >> (page_bits_ - kBitBits); }

 private:
  unsigned page_bits_;
  std::uint32_t block_size_;
};

// A set of the pages of a slab.
class PageSet {
 public:
  explicit PageSet(const Geometry& geometry) : geometry_(geometry) {}

  void add(std::uint32_t page) { units_[geometry_.unit_of(page)] |= geometry_.bits_of(page); }
  void add(PageRange range) {
    for (std::uint32_t page = range.first; page <= range.last; ++page) add(page);
  }
  bool has(std::uint32_t page) const {
    return (units_[geometry_.unit_of(page)] & geometry_.bits_of(page)) != 0;
  }
  bool meets(PageRange range) const {
    for (std::uint32_t page = range.first; page <= range.last; ++page) {
      if (has(page)) return true;
    }
    return false;
  }

  std::uint16_t& unit(std::uint32_t i) { return units_[i]; }

 private:
  const Geometry& geometry_;
  std::uint16_t units_[kMostUnits]{};
};

Span* slab_unit(Span* slab, std::uint32_t distance) {
  return distance == 0 ? slab : find_span(slab->start() + std::size_t(distance) * kUnit);
}

// One slab while its pages are being purged.
class Purge {
 public:
  explicit Purge(Span* slab)
      : slab_(slab),
        geometry_(slab),
        carved_(slab->blocks.carved.get()),
        purged_(geometry_),
        held_(geometry_) {
    for (std::uint32_t i = 0; i < slab->units; ++i) {
      purged_.unit(i) = slab_unit(slab, i)->purged.pages;
    }
  }

  // The bytes given back.
  std::size_t run() {
    find_free();
    find_held();
    const std::uint32_t pages = purge();
    if (!tried_) return 0;
    for (std::uint32_t i = 0; i < slab_->units; ++i) {
      slab_unit(slab_, i)->purged.pages = purged_.unit(i);
    }
    relink();
    if (pages == 0) return 0;
    keep_purged(slab_->start(), slab_->units * kUnit);
    const std::size_t bytes = pages * geometry_.page_size();
    footprint.release(bytes);
    return bytes;
  }

 private:
  bool is_free(std::uint32_t block) const { return (free_[block / 64] >> (block % 64) & 1) != 0; }

  void find_free() {
    for (const Block* block = slab_->blocks.freed; block != nullptr; block = block->next) {
      const auto offset = std::uint32_t(reinterpret_cast<const char*>(block) - slab_->start());
      const std::uint32_t i = slab_->layout().block_at(offset);
      if (i >= carved_) die("free", "the list of free blocks was overwritten", block);
      if (is_free(i)) die("free", "the block was freed twice", block);
      free_[i / 64] |= std::uint64_t(1) << (i % 64);
    }
  }

  void find_held() {
    for (std::uint32_t i = 0; i < carved_; ++i) {
      if (is_free(i)) continue;
      const PageRange pages = geometry_.pages_of_blocks(i, 1);
      if (!purged_.meets(pages)) held_.add(pages);
    }
  }

  // The number of pages given back.
  std::uint32_t purge() {
    const auto end = std::uint32_t(slab_->entered / geometry_.page_size());
    std::uint32_t given = 0;
    std::uint32_t stop = 0;
    for (std::uint32_t page = 0; page < end; page = stop) {
      stop = page + 1;
      if (held_.has(page) || purged_.has(page)) continue;
      std::uint32_t fresh = 1;
      std::uint32_t last = page;
      // Over what is purged already a run may go on, but not end with it.
      for (; stop < end && !held_.has(stop); ++stop) {
        if (purged_.has(stop)) continue;
        last = stop;
        ++fresh;
      }
      tried_ = true;
      char* start = slab_->start() + page * geometry_.page_size();
      if (!os::purge(start, (last - page + 1) * geometry_.page_size())) continue;
      purged_.add(PageRange{page, last});
      given += fresh;
    }
    return given;
  }

  // All links are written anew, in the order of the addresses, those on pages that the system did
  // not purge too: of several mappings it may have purged the first and refused the second.
  void relink() {
    Block* list = nullptr;
    for (std::uint32_t i = carved_; i-- > 0;) {
      if (!is_free(i)) continue;
      if (purged_.meets(geometry_.pages_of_blocks(i, 1))) {
        ++slab_->purged.blocks;
        continue;
      }
      char* p = slab_->start() + std::size_t(i) * slab_->layout().block_size;
      Block* block = reinterpret_cast<Block*>(p);
      block->next = list;
      list = block;
    }
    slab_->blocks.freed = list;
  }

  Span* slab_;
  const Geometry geometry_;
  const std::uint32_t carved_;
  PageSet purged_;
  PageSet held_;  // pages with a used block
  bool tried_ = false;
  std::uint64_t free_[divide_up(kMostBlocks, 64)]{};
};

bool is_purged(Span* slab, const Geometry& geometry, std::uint32_t page) {
  return (slab_unit(slab, geometry.unit_of(page))->purged.pages & geometry.bits_of(page)) != 0;
}

bool meets_purged(Span* slab, const Geometry& geometry, PageRange pages) {
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    if (is_purged(slab, geometry, page)) return true;
  }
  return false;
}

// There is one.
std::uint32_t first_purged_block(Span* slab, const Geometry& geometry) {
  std::uint32_t unit = 0;
  while (slab_unit(slab, unit)->purged.pages == 0) ++unit;
  const int bit = std::countr_zero(slab_unit(slab, unit)->purged.pages);
  const std::uint32_t page = geometry.pages_of(unit) + geometry.page_of_bit(unsigned(bit));
  // No page before it is purged, so the first block that overlaps it waits for no other.
  return geometry.first_block_on(page);
}

}  // namespace

std::size_t purge_slab(Span* slab) {
  const SlabBlocks& blocks = slab->blocks;
  const std::size_t carved = std::size_t(blocks.carved.get()) * slab->layout().block_size;
  const bool has_tail = carved + os::page_size() <= slab->entered;
  if (blocks.freed == nullptr && !has_tail) return 0;
  return Purge(slab).run();
}

std::size_t purge_pages(Heap* heap) {
  if (heap == nullptr || heap == &unset_heap) return 0;
  SlowPath slow_path(heap);
  std::size_t given = 0;
  for (Bin& bin : heap->bins) {
    return_current(heap, &bin);
    for (Span* slab = bin.available.first; slab != nullptr; slab = slab->next) {
      given += purge_slab(slab);
    }
  }
  return given;
}

std::size_t purge_orphan_pages() {
  if (!have_orphans()) return 0;
  Heap* heap = heap_for_free();
  if (heap == nullptr) return 0;
  SlowPath slow_path(heap);
  std::size_t given = 0;
  OrphanVisit visit(heap);
  while (Span* slab = visit.next()) given += purge_slab(slab);
  // What was freed of a slab while it was here.
  if (heap->inbox.has_any()) receive(heap);
  return given;
}

Block* restore(Bin* bin, Span* slab) {
  const SizeClass& layout = slab->layout();
  const Geometry geometry(slab);
  const std::uint32_t first = first_purged_block(slab, geometry);
  const std::uint32_t last_page = geometry.pages_of_blocks(first, 1).last;
  const bool shares_page = is_purged(slab, geometry, last_page);
  unpurge(slab, first, 1);
  std::uint32_t end = first + 1;
  if (shares_page) {
    // The last block that begins on the page may go on to others, and wait for them.
    const std::uint32_t carved = slab->blocks.carved.get();
    end = std::min(geometry.first_block_on(last_page + 1), carved);
    if (end < carved && geometry.pages_of_blocks(end, 1).first == last_page &&
        !meets_purged(slab, geometry, geometry.pages_of_blocks(end, 1))) {
      ++end;
    }
  }
  char* p = slab->start() + std::size_t(first) * layout.block_size;
  Block* const result = reinterpret_cast<Block*>(p);
  Block** link = &bin->list;
  for (std::uint32_t i = first + 1; i < end; ++i) {
    p += layout.block_size;
    *link = reinterpret_cast<Block*>(p);
    link = &(*link)->next;
  }
  *link = nullptr;
  slab->blocks.used.add(end - first);
  slab->purged.blocks = std::uint16_t(slab->purged.blocks - (end - first));
  return result;
}

std::size_t bytes_to_restore(Span* slab) {
  return purged_under(slab, first_purged_block(slab, Geometry(slab)), 1);
}

void unpurge(Span* slab, std::uint32_t first, std::uint32_t count) {
  const Geometry geometry(slab);
  const PageRange pages = geometry.pages_of_blocks(first, count);
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    slab_unit(slab, geometry.unit_of(page))->purged.pages &=
        std::uint16_t(~unsigned(geometry.bits_of(page)));
  }
}

std::size_t purged_under(Span* slab, std::uint32_t first, std::uint32_t count) {
  const Geometry geometry(slab);
  const PageRange pages = geometry.pages_of_blocks(first, count);
  std::size_t bytes = 0;
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    if (is_purged(slab, geometry, page)) bytes += geometry.page_size();
  }
  return bytes;
}

}  // namespace corbel::alloc
