// SPDX-License-Identifier: Apache-2.0
// The part of the span heap that gives memory back to the system.
#include <algorithm>

#include "alloc/map/footprint.hpp"
#include "alloc/map/options.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/map/unmap_order.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/pages/span_parts.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

bool SpanHeap::is_kept(const Span* span) {
  // relaxed: see options.hpp
  return span->units * kUnit >= options.huge_threshold.load(std::memory_order_relaxed);
}

void SpanHeap::note_oldest() {
  // relaxed: a reader takes the lock before it acts on the value
  oldest_since_.store(oldest_ != nullptr ? oldest_->freed_at : kNever, std::memory_order_relaxed);
}

namespace {

bool is_old_enough(std::uint32_t freed_at, bool is_over) {
  const std::uint32_t age = std::uint32_t(os::now_ms()) - freed_at;
  // relaxed: see options.hpp
  const std::uint32_t delay = options.purge_delay.load(std::memory_order_relaxed);
  return age >= (is_over ? delay / kOverLimitSpeedup : delay);
}

}  // namespace

Span* SpanHeap::next_due() const {
  if (oldest_ == nullptr) return nullptr;
  // Above the soft limit, free memory is kept only for a moment. That is long enough for memory
  // that a program keeps freeing and allocating again; giving such memory back would cost more than
  // keeping it.
  const bool is_over = is_over_soft_limit();
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

// Updates a span that was to be given back but is still mapped. If `clean`, none of its pages is
// resident. Otherwise its dirty pages are the same as before, unless an unmap was tried: a refused
// unmap leaves the content unspecified, so all pages count as dirty.
DirtyCount note_left(Span* span, bool clean, bool unmap_tried, std::size_t dirty_pages) {
  if (clean) {
    set_dirty(span, span->units, 0);
  } else if (unmap_tried) {
    footprint.commit(span->bytes() - dirty_pages * kDirtyPage);
    set_dirty(span, span->units, span->bytes());
  }
  const DirtyCount dirty = clean ? DirtyCount{0, 0} : count_dirty(span, span->units);
  // Pages that could not be decommitted count as freed now, so that the attempt is not repeated at
  // once.
  note_freed(span, dirty);
  return dirty;
}

}  // namespace

void SpanHeap::enter_area(Span* first, std::size_t units) {
  figures_.areas += 1 - own_neighbours(first, units);
  tag_ends(first, units, span_tag::kInterior);
}

void SpanHeap::leave_area(Span* first, std::size_t units) {
  figures_.areas -= 1 - own_neighbours(first, units);
  tag_ends(first, units, span_tag::kForeign);
}

void SpanHeap::note_islands(char* begin, char* end) {
  const auto note = [this](Span* span) {
    if (span->zeroed && !is_in_purge_order(span) && is_island(span)) link_island(span);
  };
  // Another thread may have mapped the range again. Only beside a foreign unit is it certain which
  // end of a free span the neighbour is.
  const Span* before = find_span(begin - kUnit);
  if (before->tag() == span_tag::kFree && find_span(begin)->tag() == span_tag::kForeign) {
    note(unit_at(before, 1 - std::ptrdiff_t(before->units)));
  }
  Span* after = find_span(end);
  if (after->tag() == span_tag::kFree && find_span(end - kUnit)->tag() == span_tag::kForeign) {
    note(after);
  }
}

bool SpanHeap::splits_too_many(const Span* span) const {
  return figures_.areas >= kMaxAreas && own_neighbours(span, span->units) == 2;
}

SpanHeap::GiveBack SpanHeap::give_back_mode(const Span* span) {
  return span->units >= kUnmapUnits || is_island(span) ? GiveBack::kAddresses : GiveBack::kPages;
}

SpanHeap::Given SpanHeap::give_back(Span* span, GiveBack how) {
  if (splits_too_many(span)) how = GiveBack::kPages;
  unlink(span);
  const std::size_t units = span->units;
  char* start = span->start();
  const std::size_t dirty_pages = dirty_in(span, 0, units).pages;
  figures_.dirty_pages -= dirty_pages;
  ++figures_.purge_calls;
  if (how == GiveBack::kAddresses) {
    figures_.mapped_units -= units;
    leave_area(span, units);
  }
  lock_.unlock();
  bool gone = false;
  if (how == GiveBack::kAddresses) {
    // Tag the span as foreign before it is unmapped: another thread may map the same addresses at
    // once.
    tag_units(span, 0, units, span_tag::kForeign);
    const bool forgets = units >= kForgetUnits;
    if (forgets) forget_spans(start, units * kUnit);
    order_before_unmap();
    gone = os::unmap(start, units * kUnit);
    // The system refuses if it would have to split a mapping and the process has too many mappings.
    if (!gone && forgets) {
      // The flags that tell where mappings begin are lost. A move of pages across such a beginning
      // will fail, and the content is copied instead.
      cover_again(start, units * kUnit);
      claim_units(start, units);
      span->units = std::uint32_t(units);
    } else if (!gone) {
      tag_units(span, 1, units - 1, span_tag::kInterior);  // the ends: see claim_units
    }
  }
  const bool clean = gone || os::decommit(start, units * kUnit);
  if (clean && !gone) keep_decommitted(start, units * kUnit);
  if (clean) footprint.release(dirty_pages * kDirtyPage);
  DirtyCount dirty{0, 0};
  if (!gone) dirty = note_left(span, clean, how == GiveBack::kAddresses, dirty_pages);
  lock_.lock();
  if (gone) {
    note_unmapped(address_of(start), address_of(start) + units * kUnit);
    note_islands(start, start + units * kUnit);
    return {dirty_pages * kDirtyPage, false};
  }
  if (how == GiveBack::kAddresses) {
    figures_.mapped_units += units;
    enter_area(span, units);
    // A thread that mapped the memory before this span during the attempt found the span foreign
    // and did not set this.
    span->set_begins_mapping(true);
  }
  figures_.dirty_pages += dirty.pages;
  insert(span);
  const bool nothing_to_take = how == GiveBack::kPages && dirty_pages == 0;
  if (!clean || dirty_pages == 0) return {0, !nothing_to_take};
  return {dirty_pages * kDirtyPage, false};
}

void SpanHeap::purge_due() {
  sync::LockGuard guard(lock_);
  while (Span* span = next_due()) {
    if (give_back(span, give_back_mode(span)).refused) return;
  }
}

void SpanHeap::purge_if_due() {
  // relaxed: purge_due() takes the lock before it acts
  const std::uint64_t since = oldest_since_.load(std::memory_order_relaxed);
  if (since == kNever) return;
  if (is_old_enough(std::uint32_t(since), is_over_soft_limit())) purge_due();
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
  // Memory that the system refuses to take back, because it is locked, goes to the end of the purge
  // order.
  int refusals = 0;
  while (oldest_ != nullptr && refusals < kMaxRefusals) {
    if (!oldest_->zeroed && figures_.dirty_units * kUnit <= keep) break;
    const Given step = give_back(oldest_, give_back_mode(oldest_));
    if (step.refused) ++refusals;
    given += step.bytes;
  }
  return given;
}

bool SpanHeap::commit_after_purge(void* address, std::size_t size) {
  purge_all(0);  // or another thread does it
  return os::commit(address, size);
}

bool SpanHeap::purge_down_to(std::size_t target, const Span* kept) {
  sync::LockGuard guard(lock_);
  for (int refusals = 0; refusals < kMaxRefusals;) {
    // Read once: other threads change it at any moment.
    const std::size_t counted = footprint.bytes();
    if (counted <= target) return true;
    Span* span = oldest_;
    // Clean islands are not in the footprint.
    while (span != nullptr && (span == kept || span->zeroed)) span = span->purge_order.newer;
    if (span == nullptr) return false;
    const std::size_t excess = divide_up(counted - target, kUnit);
    // Purge only a part of the span, from its first dirty unit on. Later units may be clean, so
    // double the part until it has enough dirty ones. A part of more than half is not worth
    // splitting the span: purge all of it.
    const std::size_t lead = clean_lead(span);
    const std::size_t most = (span->units - lead) / 2;
    std::size_t units = excess;
    while (units < most && dirty_in(span, lead, units).units < excess) units *= 2;
    if (units < most) span = split(span, lead, units);
    if (give_back(span, give_back_mode(span)).refused) ++refusals;
  }
  return footprint.bytes() <= target;
}

// The first span of a bucket that may be unmapped; nullptr if there is none.
Span* SpanHeap::to_unmap_from(std::size_t bucket, bool may_split) const {
  Span* span = buckets_[bucket];
  const auto splits = [](const Span* s) { return own_neighbours(s, s->units) == 2; };
  may_split = may_split && figures_.areas < kMaxAreas;
  while (span != nullptr && !may_split && splits(span)) span = span->next;
  return span;
}

void SpanHeap::unmap_all() {
  sync::LockGuard guard(lock_);
  // Every hole splits a mapping, and a process may have only some 65,000 mappings, so only a few
  // small holes are made. The counts also end the loop when the system refuses and a span stays in
  // its bucket.
  std::size_t small_left = kMaxSmallHoles;
  std::size_t units_left = figures_.free_units;
  bool may_split = true;
  for (std::size_t bucket = kBuckets; bucket-- > 1;) {
    while (Span* span = to_unmap_from(bucket, may_split)) {
      if (units_left < span->units) return;
      if (span->units < kUnmapUnits && !is_island(span) && small_left-- == 0) return;
      units_left -= span->units;
      const std::size_t before = figures_.mapped_units;
      give_back(span, GiveBack::kAddresses);
      // A refusal nearly always means that the process has all the mappings it may have. Then what
      // helps is to unmap islands.
      if (figures_.mapped_units >= before) may_split = false;
    }
  }
}

SpanFigures SpanHeap::figures() {
  sync::LockGuard guard(lock_);
  return figures_;
}

}  // namespace corbel::alloc
