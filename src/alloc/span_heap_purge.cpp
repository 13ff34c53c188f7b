// SPDX-License-Identifier: Apache-2.0
// The part of the span heap that gives memory back to the system.
#include <algorithm>

#include "alloc/footprint.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/huge_pages.hpp"
#include "alloc/options.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/span_parts.hpp"
#include "alloc/unmap_order.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

bool SpanHeap::is_kept(const Span* span) {
  // relaxed: see options.hpp
  return span->units * kUnit >= options.huge_threshold.load(std::memory_order_relaxed);
}

void SpanHeap::note_oldest() {
  // relaxed: who reads it takes the lock before anything follows from it
  oldest_since_.store(oldest_ != nullptr ? oldest_->freed_at : kNever, std::memory_order_relaxed);
}

namespace {

bool is_old_enough(std::uint32_t freed_at, bool is_over) {
  const std::uint32_t age = std::uint32_t(os::now_ms()) - freed_at;
  // relaxed: see options.hpp
  const std::uint32_t delay = options.purge_delay.load(std::memory_order_relaxed);
  return age >= (is_over ? delay / kHurry : delay);
}

}  // namespace

Span* SpanHeap::next_due() const {
  if (oldest_ == nullptr) return nullptr;
  // Above the limit free memory is kept for a moment only: long enough for a program to use again
  // what it frees all the time, whose way through the system would cost more than the pages.
  const bool is_over = heap_limit.is_over_soft();
  Span* span = oldest_;
  while (span != nullptr && !is_over && is_kept(span)) span = span->purge_order.newer;
  return span != nullptr && is_old_enough(span->freed_at, is_over) ? span : nullptr;
}

void SpanHeap::free_and_unmap(Span* span) {
  set_dirty(span, span->units, span->bytes());
  note_freed(span, {span->bytes() / kDirtyPage, span->units});
  sync::LockGuard guard(lock_);
  figures_.dirty_pages += span->bytes() / kDirtyPage;
  link(span);
  give_back(span, GiveBack::kAddresses);
}

namespace {

// What is left of a span that the system has not unmapped: without a resident page if `clean`, else
// as it was, or, when an unmap was tried, with any content.
DirtyCount note_left(Span* span, bool clean, bool unmap_tried, std::size_t dirty_pages) {
  if (clean) {
    set_dirty(span, span->units, 0);
  } else if (unmap_tried) {
    footprint.commit(span->bytes() - dirty_pages * kDirtyPage);
    set_dirty(span, span->units, span->bytes());
  }
  const DirtyCount dirty = clean ? DirtyCount{0, 0} : count_dirty(span, span->units);
  // What could not be purged counts as freed now, so that the attempt is not repeated at once.
  note_freed(span, dirty);
  return dirty;
}

}  // namespace

SpanHeap::GiveBack SpanHeap::way_for(const Span* span) {
  return span->units >= kUnmapUnits ? GiveBack::kAddresses : GiveBack::kPages;
}

std::size_t SpanHeap::give_back(Span* span, GiveBack how) {
  unlink(span);
  const std::size_t units = span->units;
  char* start = span->start();
  const std::size_t dirty_pages = dirty_in(span, 0, units).pages;
  figures_.dirty_pages -= dirty_pages;
  ++figures_.purge_calls;
  if (how == GiveBack::kAddresses) figures_.mapped_units -= units;
  lock_.unlock();
  bool gone = false;
  if (how == GiveBack::kAddresses) {
    // Forgotten before it is gone: the next moment another thread may map the same addresses.
    tag_units(span, 0, units, span_tag::kForeign);
    const bool forgets = units >= kForgetUnits;
    if (forgets) forget_spans(start, units * kUnit);
    order_before_unmap();
    gone = os::unmap(start, units * kUnit);
    // The system refuses where a mapping would have to be split once too often.
    if (!gone && forgets) {
      // Which units begin a mapping is not known any more: there a move will be refused, and copy.
      cover_again(start, units * kUnit);
      claim_units(start, units);
      span->units = std::uint32_t(units);
    } else if (!gone) {
      tag_units(span, 0, units, span_tag::kInterior);
    }
  }
  const bool clean = gone || os::purge(start, units * kUnit);
  if (clean && !gone) keep_purged(start, units * kUnit);
  if (clean) footprint.release(dirty_pages * kDirtyPage);
  DirtyCount dirty{0, 0};
  if (!gone) dirty = note_left(span, clean, how == GiveBack::kAddresses, dirty_pages);
  lock_.lock();
  if (gone) {
    note_unmapped(address_of(start), address_of(start) + units * kUnit);
    return dirty_pages * kDirtyPage;
  }
  if (how == GiveBack::kAddresses) {
    figures_.mapped_units += units;
    // A neighbour that came during the attempt has taken us for foreign.
    span->set_begins_mapping(true);
  }
  figures_.dirty_pages += dirty.pages;
  insert(span);
  return clean ? dirty_pages * kDirtyPage : 0;
}

void SpanHeap::purge_due() {
  sync::LockGuard guard(lock_);
  while (Span* span = next_due()) {
    if (give_back(span, way_for(span)) == 0) return;
  }
}

void SpanHeap::purge_if_due() {
  const std::uint64_t since = oldest_since_.load(std::memory_order_relaxed);  // relaxed: see above
  if (since == kNever) return;
  if (is_old_enough(std::uint32_t(since), heap_limit.is_over_soft())) purge_due();
}

bool SpanHeap::has_due_later() {
  sync::LockGuard guard(lock_);
  for (const Span* span = oldest_; span != nullptr; span = span->purge_order.newer) {
    if (!is_kept(span)) return true;
  }
  return false;
}

std::size_t SpanHeap::purge_all(std::size_t keep) {
  sync::LockGuard guard(lock_);
  std::size_t given = 0;
  // What the system refuses, because it is locked in memory, goes to the end of the order.
  int refusals = 0;
  while (oldest_ != nullptr && figures_.dirty_units * kUnit > keep && refusals < kMaxRefusals) {
    const std::size_t step = give_back(oldest_, way_for(oldest_));
    if (step == 0) ++refusals;
    given += step;
  }
  return given;
}

bool SpanHeap::purge_down_to(std::size_t target, const Span* kept) {
  sync::LockGuard guard(lock_);
  for (int refusals = 0; refusals < kMaxRefusals;) {
    // Read once: other threads change it at any moment.
    const std::size_t counted = footprint.bytes();
    if (counted <= target) return true;
    Span* span = oldest_;
    if (span != nullptr && span == kept) span = span->purge_order.newer;
    if (span == nullptr) return false;
    const std::size_t excess = divide_up(counted - target, kUnit);
    // From the first dirty unit on, and some may be clean behind it. Nearly all is not worth a cut.
    const std::size_t lead = clean_lead(span);
    const std::size_t most = (span->units - lead) / 2;
    std::size_t units = excess;
    while (units < most && dirty_in(span, lead, units).units < excess) units *= 2;
    if (units < most) span = split(span, lead, units);
    if (give_back(span, way_for(span)) == 0) ++refusals;
  }
  return footprint.bytes() <= target;
}

void SpanHeap::unmap_all() {
  sync::LockGuard guard(lock_);
  // Every hole splits a mapping, of which a process may have some 65,000, so only a few small ones
  // are made. The count also ends the loop where the system refuses and the span comes back.
  std::size_t small_left = kMaxSmallHoles;
  std::size_t units_left = figures_.free_units;
  for (std::size_t bucket = kBuckets; bucket-- > 1;) {
    while (Span* span = buckets_[bucket]) {
      if (units_left < span->units) return;
      if (span->units < kUnmapUnits && small_left-- == 0) return;
      units_left -= span->units;
      give_back(span, GiveBack::kAddresses);
    }
  }
}

SpanFigures SpanHeap::figures() {
  sync::LockGuard guard(lock_);
  return figures_;
}

}  // namespace corbel::alloc
