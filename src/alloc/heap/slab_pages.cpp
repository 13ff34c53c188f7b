// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/slab_pages.hpp"

#include <algorithm>
#include <bit>

#include "alloc/map/die.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/pages/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr unsigned kDirtyPageBits =
    kUnitBits - 4;  // a bit of SlabDecommitted::pages stands for 4 KiB

constexpr std::size_t max_of(std::uint32_t SizeClass::* field) {
  std::size_t result = 0;
  for (const SizeClass& layout : kSizeClasses) {
    result = std::max<std::size_t>(result, layout.*field);
  }
  return result;
}
constexpr std::size_t kMaxSlabBlocks = max_of(&SizeClass::capacity);
constexpr std::size_t kMaxSlabUnits = max_of(&SizeClass::units);
static_assert(kMaxSlabBlocks < SlabVisit::kNever);

// Consecutive pages of a slab, by number; `last` is included.
struct PageRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Where the pages of a slab lie relative to its blocks and units.
class Geometry {
 public:
  explicit Geometry(const Span* slab)
      : page_bits_(std::max(log2_floor(os::page_size()), kDirtyPageBits)),
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
  // The bits of a page in its unit's mask. A page of more than 4 KiB has several.
  std::uint16_t bits_of(std::uint32_t page) const {
    const unsigned bits_a_page = 1U << (page_bits_ - kDirtyPageBits);
    const unsigned bits = (1U << bits_a_page) - 1;
    return std::uint16_t(bits << (page % pages_of(1) * bits_a_page));
  }
  std::uint32_t page_of_bit(unsigned bit) const { return bit >> (page_bits_ - kDirtyPageBits); }

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
  std::uint16_t units_[kMaxSlabUnits]{};
};

Span* slab_unit(Span* slab, std::uint32_t distance) {
  return distance == 0 ? slab : find_span(slab->start() + std::size_t(distance) * kUnit);
}

// One call of decommit_free_pages().
class Decommit {
 public:
  explicit Decommit(Span* slab)
      : slab_(slab),
        geometry_(slab),
        carved_(slab->blocks.carved.get()),
        decommitted_(geometry_),
        held_(geometry_) {
    for (std::uint32_t i = 0; i < slab->units; ++i) {
      decommitted_.unit(i) = slab_unit(slab, i)->decommitted.pages;
    }
  }

  // Returns the bytes given back.
  std::size_t run() {
    find_free();
    find_held();
    const std::uint32_t pages = decommit();
    if (!tried_) return 0;
    for (std::uint32_t i = 0; i < slab_->units; ++i) {
      slab_unit(slab_, i)->decommitted.pages = decommitted_.unit(i);
    }
    relink();
    if (pages == 0) return 0;
    keep_decommitted(slab_->start(), slab_->units * kUnit);
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
      if (!decommitted_.meets(pages)) held_.add(pages);
    }
  }

  // Returns the number of pages given back.
  std::uint32_t decommit() {
    const auto end = std::uint32_t(slab_->committed / geometry_.page_size());
    std::uint32_t given = 0;
    std::uint32_t stop = 0;
    for (std::uint32_t page = 0; page < end; page = stop) {
      stop = page + 1;
      if (held_.has(page) || decommitted_.has(page)) continue;
      std::uint32_t fresh = 1;
      std::uint32_t last = page;
      // One call may span pages that are decommitted already, but does not end with such pages.
      for (; stop < end && !held_.has(stop); ++stop) {
        if (decommitted_.has(stop)) continue;
        last = stop;
        ++fresh;
      }
      tried_ = true;
      char* start = slab_->start() + page * geometry_.page_size();
      if (!os::decommit(start, (last - page + 1) * geometry_.page_size())) continue;
      decommitted_.add(PageRange{page, last});
      given += fresh;
    }
    return given;
  }

  // Rewrites the free list in address order, without the blocks that are decommitted now. Also
  // rewrites links on pages where the system refused: if the range spanned several mappings, the
  // system may have decommitted the first one, and its links, before it refused the second.
  void relink() {
    Block* list = nullptr;
    for (std::uint32_t i = carved_; i-- > 0;) {
      if (!is_free(i)) continue;
      if (decommitted_.meets(geometry_.pages_of_blocks(i, 1))) {
        ++slab_->decommitted.blocks;
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
  PageSet decommitted_;
  PageSet held_;        // the pages that a used block overlaps
  bool tried_ = false;  // the system has been called
  std::uint64_t free_[divide_up(kMaxSlabBlocks, 64)]{};
};

bool is_decommitted(Span* slab, const Geometry& geometry, std::uint32_t page) {
  return (slab_unit(slab, geometry.unit_of(page))->decommitted.pages & geometry.bits_of(page)) != 0;
}

bool meets_decommitted(Span* slab, const Geometry& geometry, PageRange pages) {
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    if (is_decommitted(slab, geometry, page)) return true;
  }
  return false;
}

// Requires: the slab has a decommitted block.
std::uint32_t first_decommitted_block(Span* slab, const Geometry& geometry) {
  std::uint32_t unit = 0;
  while (slab_unit(slab, unit)->decommitted.pages == 0) ++unit;
  const int bit = std::countr_zero(slab_unit(slab, unit)->decommitted.pages);
  const std::uint32_t page = geometry.pages_of(unit) + geometry.page_of_bit(unsigned(bit));
  // No page before this one is decommitted, so the first block that overlaps this page is
  // decommitted only because of this page and those after it.
  return geometry.first_block_on(page);
}

// Whether the last page after the carved blocks is committed. Decommitting takes all pages after
// them or none, so the last one stands for all.
bool has_committed_rest(Span* slab) {
  const Geometry geometry(slab);
  const std::size_t carved = std::size_t(slab->blocks.carved.get()) * slab->layout().block_size;
  if (carved + geometry.page_size() > slab->committed) return false;
  return !is_decommitted(slab, geometry, std::uint32_t(slab->committed / geometry.page_size() - 1));
}

}  // namespace

std::size_t decommit_free_pages(Span* slab) {
  if (slab->blocks.freed == nullptr && !has_committed_rest(slab)) return 0;
  return Decommit(slab).run();
}

// ---- committing ---------------------------------------------------------------------------------

namespace {

// Larger blocks are not committed early: the program may never ask for them.
constexpr std::size_t kMaxCommittedEarly = 2048;

std::size_t decommitted_under(Span* slab, const Geometry& geometry, PageRange pages) {
  std::size_t bytes = 0;
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    if (is_decommitted(slab, geometry, page)) bytes += geometry.page_size();
  }
  return bytes;
}

// Commits the pages and marks them as committed. False when memory is exhausted. Requires: they are
// counted in the footprint.
bool recommit(Span* slab, const Geometry& geometry, PageRange pages) {
  char* const start = slab->start() + pages.first * geometry.page_size();
  const std::size_t size = (pages.last - pages.first + 1) * geometry.page_size();
  if (!span_heap.commit(start, size)) {
    // It may have committed some of them.
    for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
      if (!is_decommitted(slab, geometry, page)) continue;
      os::decommit(slab->start() + page * geometry.page_size(), geometry.page_size());
    }
    return false;
  }
  for (std::uint32_t page = pages.first; page <= pages.last; ++page) {
    slab_unit(slab, geometry.unit_of(page))->decommitted.pages &=
        std::uint16_t(~unsigned(geometry.bits_of(page)));
  }
  return true;
}

// The offset in the slab of the end of the pages that its first `blocks` blocks lie in.
std::size_t end_of_blocks(const Span* slab, std::uint32_t blocks) {
  return align_up(std::size_t(blocks) * slab->layout().block_size, os::page_size());
}

// The offset up to which to commit if there is room; at least `min_end`. If the bin has much memory
// already, one system call for several pages replaces a page fault for each.
std::size_t preferred_end(const Span* slab, std::size_t min_end, std::size_t early) {
  if (min_end == slab->committed || slab->layout().block_size > kMaxCommittedEarly) return min_end;
  const std::size_t end = end_of_blocks(slab, slab->layout().capacity);
  return std::max(min_end, std::min(slab->committed + align_down(early, os::page_size()), end));
}

// Estimates the offset up to which the program will write to the next blocks to carve, which end at
// `end`. Small blocks are written as a whole. A larger block may be a buffer that is hardly used,
// so the estimate follows the slab's first block, whose pages became resident only when they were
// written to.
std::size_t likely_written(const Span* slab, std::size_t end) {
  const std::size_t page = os::page_size();
  const std::size_t size = slab->layout().block_size;
  if (size <= kMaxCommittedEarly) return end;
  const std::uint32_t carved = slab->blocks.carved.get();
  if (carved == 0 || size < 2 * page) return slab->committed;
  // The offset of the last byte of the smallest request that this class serves (unless the request
  // asks for an alignment).
  const std::size_t last = kSizeClasses[slab->size_class - 1U].block_size;
  // The page of the first block that contains this byte. If the next block begins in that page too,
  // the page before it.
  char* const sample = slab->start() + align_down(std::min(last, size - page), page);
  if (!os::is_resident(sample)) return slab->committed;
  return std::min(end, align_up(carved * size + last + 1, page));
}

// Makes the pages up to the offset `end` resident as far as the program is likely to write to them;
// the other pages become resident when they are written to. Requires: the pages are counted.
void populate(const Span* slab, std::size_t end) {
  if (end - slab->committed <= os::page_size()) return;
  const std::size_t written = likely_written(slab, end);
  if (written > slab->committed) {
    os::populate(slab->start() + slab->committed, written - slab->committed);
  }
}

// Counts and commits the pages up to the offset `end`, and those of `pages` that were decommitted.
// False if a limit leaves no room for `shortage` bytes, or, with a shortage of 0, because memory is
// exhausted.
bool commit_up_to(Span* slab, const Geometry& geometry, PageRange pages, std::size_t end,
                  std::size_t* shortage) {
  // Some of these pages may have been committed before and decommitted since: the first one with
  // the earlier blocks in it, and any that was committed early and never carved.
  const std::size_t again = decommitted_under(slab, geometry, pages);
  const std::size_t fresh = end - slab->committed;
  if (!footprint.try_commit(again + fresh)) {
    *shortage = again + fresh;
    return false;
  }
  char* const start = slab->start() + slab->committed;
  if ((fresh != 0 && !span_heap.commit(start, fresh)) ||
      (again != 0 && !recommit(slab, geometry, pages))) {
    // What was committed of them all the same is not counted.
    if (fresh != 0) os::decommit(start, fresh);
    footprint.release(again + fresh);
    *shortage = 0;
    return false;
  }
  populate(slab, end);
  slab->committed = std::uint32_t(end);
  return true;
}

}  // namespace

bool commit_blocks(Span* slab, BlockRange next, std::size_t early, std::size_t* shortage) {
  const Geometry geometry(slab);
  const PageRange pages = geometry.pages_of_blocks(next.first, next.count);
  const std::size_t min_end =
      std::max<std::size_t>(end_of_blocks(slab, next.first + next.count), slab->committed);
  const std::size_t end = preferred_end(slab, min_end, early);
  return commit_up_to(slab, geometry, pages, end, shortage) ||
         (end != min_end && commit_up_to(slab, geometry, pages, min_end, shortage));
}

bool recommit_blocks(Span* slab, BlockRange* blocks, std::size_t* shortage) {
  const Geometry geometry(slab);
  const std::uint32_t first = first_decommitted_block(slab, geometry);
  const PageRange pages = geometry.pages_of_blocks(first, 1);
  *shortage = decommitted_under(slab, geometry, pages);
  if (!footprint.try_commit(*shortage)) return false;
  const bool shares_page = is_decommitted(slab, geometry, pages.last);
  if (!recommit(slab, geometry, pages)) {
    footprint.release(*shortage);
    *shortage = 0;
    return false;
  }
  std::uint32_t end = first + 1;
  if (shares_page) {
    // The last block that begins on the page may extend to the next page. It stays decommitted if
    // that page is.
    const std::uint32_t carved = slab->blocks.carved.get();
    end = std::min(geometry.first_block_on(pages.last + 1), carved);
    if (end < carved && geometry.pages_of_blocks(end, 1).first == pages.last &&
        !meets_decommitted(slab, geometry, geometry.pages_of_blocks(end, 1))) {
      ++end;
    }
  }
  *blocks = {first, end - first};
  slab->decommitted.blocks = std::uint16_t(slab->decommitted.blocks - blocks->count);
  return true;
}

}  // namespace corbel::alloc
