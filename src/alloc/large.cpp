// SPDX-License-Identifier: Apache-2.0
#include "alloc/large.hpp"

#include <string.h>

#include "alloc/allocator.hpp"
#include "alloc/span_heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Below this, copying costs less than changing the page tables.
constexpr std::size_t kMoveThreshold = std::size_t(512) << 10;

// A program that frees so much at once may never call the allocator again.
constexpr std::size_t kUnmappedAtOnce = std::size_t(64) << 20;

std::size_t units_for(std::size_t size) { return size == 0 ? 1 : divide_up(size, kUnit); }

}  // namespace

void* allocate_large(std::size_t size, std::size_t alignment, bool* zeroed) {
  const std::size_t align_units = alignment > kUnit ? alignment / kUnit : 1;
  Span* span = span_heap.allocate(units_for(size), align_units);
  if (span == nullptr) return nullptr;
  *zeroed = span->zeroed;
  span->set_tag(span_tag::kLarge);
  return span->start();
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

bool resize_large(Span* span, std::size_t size) {
  const std::size_t units = units_for(size);
  if (units == span->units) return true;
  if (units > span->units) return span_heap.grow(span, units);
  if (span_heap.shrink(span, units)) span_heap.purge_due();
  return true;
}

bool move_large(Span* from, Span* to) {
  const std::size_t units = from->units < to->units ? from->units : to->units;
  if (units * kUnit >= kMoveThreshold) return span_heap.move_content(from, to, units);
  memcpy(to->start(), from->start(), units * kUnit);
  return true;
}

std::size_t large_size(const Span* span) { return std::size_t(span->units) * kUnit; }

}  // namespace corbel::alloc
