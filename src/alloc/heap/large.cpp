// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/large.hpp"

#include <string.h>

#include <algorithm>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/pages/span_heap.hpp"

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

std::size_t units_for(std::size_t size) { return size == 0 ? 1 : divide_up(size, kUnit); }

}  // namespace

SpanRequest large_request(std::size_t size, std::size_t alignment) {
  return {.units = units_for(size), .align_units = alignment > kUnit ? alignment / kUnit : 1};
}

Span* allocate_large(SpanRequest& request, LimitCalls& calls) {
  Heap* const heap = attach_heap();
  SlowPath slow_path(heap);
  RoomSearch search(heap, calls);
  Span* span;
  do {
    span = span_heap.allocate(request);
  } while (span == nullptr && search.find(request.shortage, request.kept));
  if (span != nullptr) span->set_tag(span_tag::kLarge);
  return span;
}

void free_large(Span* span, void* block) {
  if (block != span->start()) die("free", "the pointer is not the start of a block", block);
  span->set_tag(span_tag::kInterior);
  span->zeroed = false;
  if (span->bytes() >= kMinUnmapOnFree && !span_heap.is_kept(span)) {
    span_heap.free_and_unmap(span);
  } else if (span_heap.free(span)) {
    span_heap.purge_due();
  }
}

bool resize_large(Span* span, std::size_t size, std::size_t* shortage) {
  const std::size_t units = units_for(size);
  *shortage = 0;
  if (units == span->units) return true;
  if (units > span->units) return span_heap.grow(span, units, shortage);
  if (span_heap.shrink(span, units)) span_heap.purge_due();
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

bool move_large(Span* from, Span* to, std::size_t taken_over) {
  const std::size_t units = std::min(from->units, to->units);
  if (better_copied(to, units, taken_over)) {
    copy_large(from, to);
    return true;
  }
  switch (span_heap.move_content(from, to, units, taken_over)) {
    case ContentMove::kMoved:
      if (from->units > units && span_heap.shrink(from, units)) span_heap.purge_due();
      from->set_tag(span_tag::kInterior);
      if (span_heap.free_moved(from, taken_over)) span_heap.purge_due();
      return true;
    case ContentMove::kCopied:
      free_large(from, from->start());
      return true;
    case ContentMove::kUndone:
      break;
  }
  return false;
}

void copy_large(Span* from, Span* to) {
  memcpy(to->start(), from->start(), std::min(from->bytes(), to->bytes()));
  free_large(from, from->start());
}

}  // namespace corbel::alloc
