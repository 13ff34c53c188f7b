// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/large.hpp"

#include <string.h>

#include <algorithm>
#include <bit>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/options.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/pages/span_parts.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Below this, copying costs less than changing the page tables.
constexpr std::size_t kMoveThreshold = std::size_t(512) << 10;

// Up to this size, if the target's pages are resident, copying costs less than moving pages: a move
// discards the target's pages and leaves the source without pages, which the next block there would
// have to fault in.
constexpr std::size_t kMaxCopyIfResident = std::size_t(2) << 20;

// A free span of at least this size is unmapped at once instead of after the purge delay: a program
// that frees so much may never call the allocator again.
constexpr std::size_t kMinUnmapOnFree = std::size_t(64) << 20;

// Larger blocks have no tail: it would be less than 6 % of them.
constexpr std::size_t kMaxUnitsWithTail = 17;

std::size_t units_for(std::size_t size) { return size == 0 ? 1 : divide_up(size, kUnit); }

}  // namespace

SpanRequest large_request(std::size_t size, std::size_t alignment) {
  return {.units = units_for(size), .align_units = alignment > kUnit ? alignment / kUnit : 1};
}

Span* allocate_large(SpanRequest& request, LimitCalls& calls) {
  if (os::other_threads_are_gone()) [[unlikely]]
    return map_large_alone(request.units * kUnit, request.align_units * kUnit);
  const LateHeap late_heap;
  Heap* const heap = attach_heap();
  SlowPath slow_path(heap);
  RoomSearch search(heap, calls);
  take_rested_heaps_apart();
  Span* span;
  do {
    span = span_heap.allocate(request);
  } while (span == nullptr && search.find(request.shortage, request.kept));
  if (span == nullptr) return nullptr;
  span->tail = 0;
  span->sampled = false;
  span->set_tag(span_tag::kLarge);
  return span;
}

Span* map_large_alone(std::size_t size, std::size_t alignment) {
  const std::size_t units = units_for(size);
  void* const memory = os::map(units * kUnit, std::max(alignment, kUnit), nullptr);
  if (memory == nullptr) return nullptr;
  if (cover_with_spans(memory, units * kUnit) != Cover::kDone) {
    os::unmap(memory, units * kUnit);
    return nullptr;
  }
  claim_units(static_cast<char*>(memory), units);
  Span* const span = find_span(memory);
  span->units = std::uint32_t(units);
  span->tail = 0;
  span->sampled = false;
  span->zeroed = true;
  tag_ends(span, units, span_tag::kInterior);
  span->set_tag(span_tag::kLarge);
  return span;
}

namespace {

std::size_t whole_pages(std::size_t size) {
  return align_up(size, std::max(os::page_size(), kDirtyPage));
}

// The bytes of the pages after the first `size` bytes.
std::size_t bytes_after(const Span* span, std::size_t size) {
  const std::size_t pages = whole_pages(std::max(size, std::size_t(1)));
  return span->units <= kMaxUnitsWithTail && pages < span->bytes() ? span->bytes() - pages : 0;
}

// Whether a huge page may make the tail resident together with pages that the program touches.
bool tail_may_be_huge() {
  // relaxed: see options.hpp
  return may_have_huge_pages() ||
         options.huge_pages.load(std::memory_order_relaxed) == HugePages::kAlways;
}

bool give_back(const Span* span, std::size_t bytes) {
  char* const start = span->start() + span->bytes() - bytes;
  if (!os::decommit(start, bytes)) return false;
  keep_decommitted(start, bytes);
  return true;
}

// Makes the tail `bytes` long; it was not longer.
void extend_tail(Span* span, std::size_t bytes) {
  footprint.release(bytes - span->tail);
  span->tail = std::uint32_t(bytes);
}

// As extend_tail(), where the pages may be committed and the program has not touched them: a system
// that counts what is committed gets them back.
void extend_untouched_tail(Span* span, std::size_t bytes) {
  if (CORBEL_OS_COMMITS && bytes != span->tail && !give_back(span, bytes)) return;
  extend_tail(span, bytes);
}

}  // namespace

void trim_tail(Span* span, std::size_t size) {
  const std::size_t bytes = bytes_after(span, size);
  const bool wastes = bytes > span->tail && bytes - span->tail > span->bytes() / 16;
  if (wastes && footprint.is_near_ceiling() && give_back(span, bytes)) extend_tail(span, bytes);
}

void set_tail(Span* span, std::size_t size) {
  const std::size_t bytes = bytes_after(span, size);
  if (bytes == 0 || tail_may_be_huge() || os::other_threads_are_gone()) return;
  // Bits of memory in use are stale, but these have not changed since the span was free.
  const PageMask dirty = *page_masks(span->unit + span->units - 1);
  const auto clean = std::size_t(std::countl_zero(dirty)) * kDirtyPage;
  const std::size_t page = std::max(os::page_size(), kDirtyPage);
  extend_untouched_tail(span, std::min(bytes, align_down(clean, page)));
  trim_tail(span, size);
}

namespace {

// Counts and commits the first `bytes` of the tail, which are then in use. False if a limit leaves
// no room for `shortage` bytes, or, with a `shortage` of 0, because memory is exhausted.
bool commit_tail(Span* span, std::size_t bytes, std::size_t* shortage) {
  *shortage = 0;
  if (bytes == 0) return true;
  if (!footprint.try_commit(bytes)) {
    *shortage = bytes;
    return false;
  }
  char* const start = span->start() + large_size(span);
  if (!span_heap.commit(start, bytes)) {
    os::decommit(start, bytes);  // a part of it may be committed
    footprint.release(bytes);
    return false;
  }
  span->tail -= std::uint32_t(bytes);
  return true;
}

}  // namespace

bool count_tail(Span* span) {
  std::size_t shortage;
  return commit_tail(span, span->tail, &shortage);
}

void uncount_tail(Span* span, std::size_t bytes) { extend_untouched_tail(span, bytes); }

void free_large(Span* span, void* block) {
  if (block != span->start()) die("free", "the pointer is not the start of a block", block);
  if (span->sampled) [[unlikely]]
    forget_large(span);
  span->set_tag(span_tag::kInterior);
  span->zeroed = false;
  if (span->bytes() >= kMinUnmapOnFree && !span_heap.is_kept(span)) {
    span_heap.free_and_unmap(span);
    return;
  }
  if (span->tail == 0) {  // all of it is dirty: nothing to count
    if (span_heap.free(span)) span_heap.purge_due();
    return;
  }
  set_dirty(span, span->units, large_size(span));
  if (span_heap.free_pages(span)) span_heap.purge_due();
}

namespace {

// Makes the block larger by a part of its tail.
bool use_tail(Span* span, std::size_t size, std::size_t* shortage) {
  if (size <= large_size(span)) {
    trim_tail(span, size);
    return true;
  }
  return commit_tail(span, whole_pages(size) - large_size(span), shortage);
}

bool grow_large(Span* span, std::size_t size, std::size_t* shortage) {
  const std::size_t tail = span->tail;
  if (!commit_tail(span, tail, shortage)) return false;
  if (!span_heap.grow(span, units_for(size), shortage)) {
    uncount_tail(span, tail);
    // Both need room at the same time.
    if (*shortage != 0) *shortage += tail;
    return false;
  }
  set_tail(span, size);
  return true;
}

}  // namespace

bool resize_large(Span* span, std::size_t size, std::size_t* shortage) {
  const std::size_t units = units_for(size);
  *shortage = 0;
  if (os::other_threads_are_gone()) [[unlikely]]
    return size <= large_size(span);
  if (units == span->units) return use_tail(span, size, shortage);
  if (units > span->units) return grow_large(span, size, shortage);
  const std::size_t tail = span->tail;
  span->tail = 0;
  if (span_heap.shrink(span, units, tail)) span_heap.purge_due();
  trim_tail(span, size);
  return true;
}

std::size_t bytes_moving(const Span* from, std::size_t units) {
  const std::size_t bytes = (from->units < units ? from->units : units) * kUnit;
  return bytes >= kMoveThreshold ? bytes : 0;
}

namespace {

// Whether copying is better than moving pages, given how much of the target is resident. If so,
// counts the `taken_over` bytes of the target, which keeps its own pages.
bool better_copied(const Span* to, std::size_t units, std::size_t taken_over) {
  if (units * kUnit < kMoveThreshold) return true;
  if (units * kUnit > kMaxCopyIfResident) return false;
  const bool is_resident = count_dirty(to, units).pages * kDirtyPage * 2 > units * kUnit;
  return is_resident && footprint.try_commit(taken_over);
}

}  // namespace

bool move_large(Span* from, Span* to, std::size_t taken_over, std::size_t* copied) {
  const std::size_t units = std::min(from->units, to->units);
  if (os::other_threads_are_gone()) [[unlikely]] {
    memcpy(to->start(), from->start(), std::min(large_size(from), large_size(to)));
    return true;
  }
  if (from->tail != 0 || to->tail != 0 || better_copied(to, units, taken_over)) {
    copy_large(from, to, copied);
    return true;
  }
  switch (span_heap.move_content(from, to, units, taken_over)) {
    case ContentMove::kMoved:
      if (from->sampled) [[unlikely]]
        forget_large(from);
      if (from->units > units && span_heap.shrink(from, units, 0)) span_heap.purge_due();
      from->set_tag(span_tag::kInterior);
      if (span_heap.free_moved(from, taken_over)) span_heap.purge_due();
      return true;
    case ContentMove::kCopied:
      *copied += units * kUnit;
      free_large(from, from->start());
      return true;
    case ContentMove::kUndone:
      break;
  }
  return false;
}

void copy_large(Span* from, Span* to, std::size_t* copied) {
  const std::size_t bytes = std::min(large_size(from), large_size(to));
  memcpy(to->start(), from->start(), bytes);
  *copied += bytes;
  free_large(from, from->start());
}

}  // namespace corbel::alloc
