// SPDX-License-Identifier: Apache-2.0
#include "alloc/large.hpp"

#include <string.h>

#include <atomic>

#include "alloc/allocator.hpp"
#include "alloc/footprint.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Below this, copying costs less than changing the page tables.
constexpr std::size_t kMoveThreshold = std::size_t(512) << 10;

// A program that frees so much at once may never call the allocator again.
constexpr std::size_t kUnmappedAtOnce = std::size_t(64) << 20;

// Whether the system moved pages when it was asked last.
constinit std::atomic<bool> pages_move{true};

std::size_t units_for(std::size_t size) { return size == 0 ? 1 : divide_up(size, kUnit); }

}  // namespace

SpanRequest large_request(std::size_t size, std::size_t alignment) {
  return {.units = units_for(size), .align_units = alignment > kUnit ? alignment / kUnit : 1};
}

Span* allocate_large(SpanRequest& request) {
  Relief relief(attach_heap());
  Span* span;
  do {
    span = span_heap.allocate(request);
  } while (span == nullptr && relief.find(request.shortage, request.kept));
  if (span != nullptr) span->set_tag(span_tag::kLarge);
  return span;
}

void free_large(Span* span, void* block) {
  if (block != span->start()) die("free", "the pointer is not the start of a block", block);
  span->set_tag(span_tag::kInterior);
  span->zeroed = false;
  if (large_size(span) >= kUnmappedAtOnce && !span_heap.is_kept(span)) {
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
  // relaxed: a thread that has not seen the last move takes its chance
  return bytes >= kMoveThreshold && pages_move.load(std::memory_order_relaxed) ? bytes : 0;
}

bool move_large(Span* from, Span* to, std::size_t taken_over) {
  const std::size_t units = from->units < to->units ? from->units : to->units;
  os::Moved moved = os::Moved::kUnchanged;
  if (units * kUnit >= kMoveThreshold) {
    moved = span_heap.move_content(from, to, units);
  } else {
    memcpy(to->start(), from->start(), units * kUnit);
  }
  if (moved == os::Moved::kYes) {
    pages_move.store(true, std::memory_order_relaxed);  // relaxed: see bytes_moving
    if (from->units > units && span_heap.shrink(from, units)) span_heap.purge_due();
    from->set_tag(span_tag::kInterior);
    if (span_heap.free_moved(from, taken_over)) span_heap.purge_due();
    return true;
  }
  // The old block is as resident as it was. That both fit into the limit was not asked; next time
  // it will be.
  footprint.commit(taken_over);
  if (taken_over != 0) pages_move.store(false, std::memory_order_relaxed);  // relaxed: as above
  if (moved == os::Moved::kTargetLost) return false;
  free_large(from, from->start());
  return true;
}

std::size_t large_size(const Span* span) { return std::size_t(span->units) * kUnit; }

}  // namespace corbel::alloc
