// SPDX-License-Identifier: Apache-2.0
#include "alloc/span_heap.hpp"

#include <string.h>

#include <algorithm>

#include "alloc/footprint.hpp"
#include "alloc/huge_pages.hpp"
#include "alloc/options.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit SpanHeap span_heap;

namespace {

constexpr std::size_t kFirstChunkUnits = 64;      // 4 MiB
constexpr std::size_t kLargestChunkUnits = 1024;  // 64 MiB, for programs of half a GiB and more
constexpr std::size_t kUnmapUnits = kHugePage / kUnit;  // smaller pieces would only split mappings
constexpr int kMaxRefusals = 64;
constexpr std::size_t kMaxSmallHoles = 256;
constexpr std::size_t kMaxUnits = std::size_t(1) << (arch::kAddressBits - kUnitBits);

Span* unit_at(const Span* span, std::ptrdiff_t distance) {
  return find_span(span->start() + distance * std::ptrdiff_t(kUnit));
}

Span* last_unit(const Span* span) { return unit_at(span, std::ptrdiff_t(span->units) - 1); }

void mark(Span* span, std::uintptr_t value) {
  Span* last = last_unit(span);
  span->set_tag(value);
  last->set_tag(value);
  last->units = span->units;
}

// Descriptors for memory that no other thread knows of yet. Whether the first unit begins a mapping
// is for mark_mapping() to say, which the neighbours call too.
void claim_units(char* start, std::size_t units) {
  const auto number = std::uint32_t(address_of(start) / kUnit);
  for (std::size_t i = 0; i < units; ++i) {
    Span* span = find_span(start + i * kUnit);
    span->unit = number + std::uint32_t(i);
    if (i != 0) span->begins_mapping = false;
    span->set_tag(span_tag::kInterior);
  }
}

void note_freed(Span* span, std::size_t dirty_units) {
  span->dirty_units = std::uint32_t(dirty_units);
  span->zeroed = dirty_units == 0;
  span->freed_at = std::uint32_t(os::now_ms());
}

std::size_t bytes_of(const Span* span) { return std::size_t(span->units) * kUnit; }

// The units between the beginning of a free span and where the request would lie in it.
std::size_t lead_in(const Span* span, std::size_t align_units) {
  return align_up(span->unit, align_units) - span->unit;
}

DirtyCount dirty_in(const Span* span, std::size_t lead, std::size_t units) {
  if (span->zeroed) return {0, 0};
  return count_dirty(unit_at(span, std::ptrdiff_t(lead)), units);
}

}  // namespace

std::size_t SpanHeap::bucket_of(std::size_t units) {
  if (units < kExactBuckets) return units;
  const unsigned order = log2_floor(units);
  return kExactBuckets + (order - 6) * 8 + ((units >> (order - 3)) - 8);
}

// ---- lists ------------------------------------------------------------------------------------

void SpanHeap::link(Span* span) {
  mark(span, span_tag::kFree);
  const std::size_t bucket = bucket_of(span->units);
  span->prev = nullptr;
  span->next = buckets_[bucket];
  if (span->next != nullptr) span->next->prev = span;
  buckets_[bucket] = span;
  non_empty_[bucket / 64] |= std::uint64_t(1) << (bucket % 64);
  figures_.free_units += span->units;
  if (span->zeroed) return;
  figures_.dirty_units += span->dirty_units;
  // Nearly always the span is the newest, or what is left of the oldest. In between the order need
  // only be roughly right, so the search for the place is bounded.
  const auto is_newer = [span](const Span* other) {
    return std::int32_t(other->freed_at - span->freed_at) > 0;
  };
  Span* older = newest_;
  if (oldest_ != nullptr && is_newer(oldest_)) older = nullptr;
  for (int i = 0; i < 16 && older != nullptr && is_newer(older); ++i) {
    older = older->purge_order.older;
  }
  Span* newer = older != nullptr ? older->purge_order.newer : oldest_;
  span->purge_order = {older, newer};
  (older != nullptr ? older->purge_order.newer : oldest_) = span;
  (newer != nullptr ? newer->purge_order.older : newest_) = span;
}

void SpanHeap::unlink(Span* span) {
  mark(span, span_tag::kInterior);
  const std::size_t bucket = bucket_of(span->units);
  (span->prev != nullptr ? span->prev->next : buckets_[bucket]) = span->next;
  if (span->next != nullptr) span->next->prev = span->prev;
  if (buckets_[bucket] == nullptr) non_empty_[bucket / 64] &= ~(std::uint64_t(1) << (bucket % 64));
  figures_.free_units -= span->units;
  if (span->zeroed) return;
  figures_.dirty_units -= span->dirty_units;
  Span* const older = span->purge_order.older;
  Span* const newer = span->purge_order.newer;
  (older != nullptr ? older->purge_order.newer : oldest_) = newer;
  (newer != nullptr ? newer->purge_order.older : newest_) = older;
}

void SpanHeap::insert(Span* span) {
  const auto absorb = [](Span* whole, const Span* part) {
    // The whole is as old as its larger part: neither does a trickle of small pieces keep a big
    // one from being purged, nor does one old piece take a warm one along.
    if (part->dirty_units > whole->dirty_units) whole->freed_at = part->freed_at;
    whole->dirty_units += part->dirty_units;
    whole->units += part->units;
    whole->zeroed = whole->zeroed && part->zeroed;
  };
  Span* before = unit_at(span, -1);
  if (before != nullptr && before->tag() == span_tag::kFree) {
    before = unit_at(span, -std::ptrdiff_t(before->units));
    unlink(before);
    absorb(before, span);
    span = before;
  }
  Span* behind = unit_at(span, std::ptrdiff_t(span->units));
  if (behind != nullptr && behind->tag() == span_tag::kFree) {
    unlink(behind);
    absorb(span, behind);
  }
  link(span);
}

// ---- taking -----------------------------------------------------------------------------------

Span* SpanHeap::search_bucket(std::size_t bucket, const SpanRequest& request) const {
  // A bucket above 64 units holds sizes within 1/8 of each other: some may be too small, and a
  // long search for the one that fits costs more than taking a larger one.
  constexpr int kTries = 8;
  Span* span = buckets_[bucket];
  for (int i = 0; i < kTries && span != nullptr; ++i, span = span->next) {
    if (span->units >= lead_in(span, request.align_units) + request.units) return span;
  }
  return nullptr;
}

Span* SpanHeap::find_fit(const SpanRequest& request) const {
  std::size_t bucket = bucket_of(request.units);
  std::size_t word = bucket / 64;
  std::uint64_t candidates = non_empty_[word] & (~std::uint64_t(0) << (bucket % 64));
  for (;;) {
    while (candidates == 0) {
      if (++word == std::size(non_empty_)) return nullptr;
      candidates = non_empty_[word];
    }
    bucket = word * 64 + unsigned(std::countr_zero(candidates));
    candidates &= candidates - 1;
    if (Span* span = search_bucket(bucket, request)) return span;
  }
}

Span* SpanHeap::take(SpanRequest& request) {
  Span* span = find_fit(request);
  if (span == nullptr) return nullptr;
  const std::size_t lead = lead_in(span, request.align_units);
  const DirtyCount dirty = dirty_in(span, lead, request.units);
  if (!request.for_slab || dirty.pages != 0) {
    const std::size_t fresh = request.units * kUnit - dirty.pages * kDirtyPage;
    request.taken_over = std::min(fresh, request.moving_in);
    if (!footprint.try_commit(fresh - request.taken_over)) {
      request.shortage = fresh - request.taken_over;
      return nullptr;
    }
  }
  return cut(span, lead, request.units, dirty);
}

// Takes `units` units, of which so many are dirty, out of a free span.
Span* SpanHeap::cut(Span* span, std::size_t lead, std::size_t units, DirtyCount dirty) {
  unlink(span);
  figures_.dirty_pages -= dirty.pages;
  const std::size_t tail = span->units - lead - units;
  const std::uint32_t freed_at = span->freed_at;
  const std::size_t lead_dirty = lead != 0 ? dirty_in(span, 0, lead).units : 0;
  const std::size_t tail_dirty = span->dirty_units - dirty.units - lead_dirty;
  Span* result = unit_at(span, std::ptrdiff_t(lead));
  const auto link_part = [&](Span* part, std::size_t part_units, std::size_t dirty_units) {
    if (part_units == 0) return;
    part->units = std::uint32_t(part_units);
    part->dirty_units = std::uint32_t(dirty_units);
    part->zeroed = dirty_units == 0;
    part->freed_at = freed_at;
    link(part);
  };
  link_part(unit_at(result, std::ptrdiff_t(units)), tail, tail_dirty);
  link_part(span, lead, lead_dirty);
  result->units = std::uint32_t(units);
  result->zeroed = dirty.pages == 0;
  return result;
}

Span* SpanHeap::allocate(SpanRequest& request) {
  request.shortage = 0;
  if (request.units > kMaxUnits || request.align_units > kMaxUnits) return nullptr;
  for (;;) {
    Span* span;
    bool due;
    {
      sync::LockGuard guard(lock_);
      span = take(request);
      due = next_due() != nullptr;
    }
    if (due) purge_due();
    if (span != nullptr) return span;
    if (request.shortage != 0) return nullptr;
    // Another thread may take the new chunk first; then there is progress all the same.
    if (!add_chunk(request)) return nullptr;
  }
}

bool SpanHeap::add_chunk(SpanRequest& request) {
  const std::size_t units = request.units;
  std::size_t chunk;
  std::size_t mapped;
  std::uintptr_t ceiling;
  {
    sync::LockGuard guard(lock_);
    // Chunks grow with the heap, so that their number stays small and so does what is unused.
    mapped = figures_.mapped_units;
    chunk = std::clamp(align_down(mapped / 8, kUnmapUnits), kFirstChunkUnits, kLargestChunkUnits);
    ceiling = place_below_;
  }
  const std::size_t alignment = std::max(request.align_units * kUnit, kUnit);
  void* memory = nullptr;
  const auto try_to_map = [&](std::size_t wanted) {
    const std::size_t size = wanted * kUnit;
    const std::size_t best = std::max(alignment, size >= kHugePage ? kHugePage : kUnit);
    void* hint = ceiling > size ? pointer_to(align_down(ceiling - size, best)) : nullptr;
    memory = os::map(size, best, hint);
    if (memory == nullptr && best != alignment) memory = os::map(size, alignment, hint);
    chunk = wanted;
    return memory != nullptr;
  };
  const std::size_t roomy = std::max(chunk, align_up(units, kUnmapUnits));
  if (!try_to_map(roomy) && !try_to_map(units)) {
    unmap_all();
    if (!try_to_map(units)) return false;
  }
  const Cover covered = cover_with_spans(memory, chunk * kUnit);
  if (covered != Cover::kDone) {
    os::unmap(memory, chunk * kUnit);
    if (covered == Cover::kShort) request.shortage = os::page_size();
    return false;
  }
  advise_chunk(memory, chunk * kUnit, units * kUnit, mapped * kUnit);
  Span* first = find_span(memory);
  claim_units(static_cast<char*>(memory), chunk);
  set_dirty(first, chunk, 0);
  first->units = std::uint32_t(chunk);
  first->zeroed = true;
  first->dirty_units = 0;
  first->freed_at = 0;
  sync::LockGuard guard(lock_);
  mark_mapping(first, chunk);
  figures_.mapped_units += chunk;
  figures_.peak_units = std::max(figures_.peak_units, figures_.mapped_units);
  ++figures_.map_calls;
  place_below_ = address_of(memory);
  insert(first);
  return true;
}

bool SpanHeap::grow(Span* span, std::size_t units, std::size_t* shortage) {
  *shortage = 0;
  sync::LockGuard guard(lock_);
  Span* behind = unit_at(span, std::ptrdiff_t(span->units));
  if (behind == nullptr || behind->tag() != span_tag::kFree) return false;
  // The unit behind ours is free, so it is the first of its span.
  if (span->units + behind->units < units) return false;
  const std::size_t more = units - span->units;
  const DirtyCount dirty = dirty_in(behind, 0, more);
  const std::size_t fresh = more * kUnit - dirty.pages * kDirtyPage;
  if (!footprint.try_commit(fresh)) {
    *shortage = fresh;
    return false;
  }
  cut(behind, 0, more, dirty);
  span->units = std::uint32_t(units);
  return true;
}

void SpanHeap::mark_mapping(Span* first, std::size_t units) {
  first->begins_mapping = true;
  // What is not ours yet says so itself when it comes; its descriptor is not ours to touch.
  Span* behind = unit_at(first, std::ptrdiff_t(units));
  if (behind != nullptr && behind->tag() != span_tag::kForeign) behind->begins_mapping = true;
}

os::Moved SpanHeap::move_content(Span* from, Span* to, std::size_t units) {
  const std::size_t target_units = to->units;
  const std::uintptr_t tag = to->tag();
  const auto tag_target = [to](std::size_t begin, std::size_t end, std::uintptr_t value) {
    for (; begin < end; ++begin) unit_at(to, std::ptrdiff_t(begin))->set_tag(value);
  };
  os::Moved result = os::Moved::kYes;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < units; begin = end) {
    // The system moves no more than one mapping at a time.
    for (end = begin + 1; end < units; ++end) {
      if (unit_at(from, std::ptrdiff_t(end))->begins_mapping) break;
    }
    char* source = from->start() + begin * kUnit;
    char* target = to->start() + begin * kUnit;
    // Not ours during the attempt: where the system loses the target, another thread may map the
    // same addresses the next moment.
    tag_target(begin, end, span_tag::kForeign);
    switch (os::move_pages(source, target, (end - begin) * kUnit)) {
      case os::Moved::kYes: {
        sync::LockGuard guard(lock_);
        mark_mapping(unit_at(to, std::ptrdiff_t(begin)), end - begin);
        break;
      }
      case os::Moved::kUnchanged: {
        memcpy(target, source, (end - begin) * kUnit);
        result = os::Moved::kUnchanged;
        // A neighbour that came during the attempt has taken us for foreign.
        sync::LockGuard guard(lock_);
        unit_at(to, std::ptrdiff_t(begin))->begins_mapping = true;
        break;
      }
      case os::Moved::kTargetLost:
        memcpy(from->start(), to->start(), begin * kUnit);
        tag_target(0, begin, span_tag::kForeign);
        tag_target(end, target_units, span_tag::kForeign);
        forget(target_units);
        return os::Moved::kTargetLost;
    }
    tag_target(begin, end, span_tag::kInterior);
  }
  to->set_tag(tag);
  return result;
}

// The system has lost a part of it and nobody can say where the rest ends, so all of it is given
// up. What is lost may be another chunk's by now; the rest counts for ever, as it may be resident
// for ever.
void SpanHeap::forget(std::size_t units) {
  sync::LockGuard guard(lock_);
  figures_.mapped_units -= units;
}

// ---- giving -----------------------------------------------------------------------------------

bool SpanHeap::is_over_limit() const {
  // relaxed: see options.hpp
  const std::size_t limit = options.soft_limit.load(std::memory_order_relaxed);
  const std::size_t resident = figures_.mapped_units - figures_.free_units + figures_.dirty_units;
  return limit != 0 && resident * kUnit > limit;
}

bool SpanHeap::is_kept(const Span* span) {
  // relaxed: see options.hpp
  return span->units * kUnit >= options.huge_threshold.load(std::memory_order_relaxed);
}

Span* SpanHeap::next_due() const {
  if (oldest_ == nullptr || is_over_limit()) return oldest_;
  Span* span = oldest_;
  while (span != nullptr && is_kept(span)) span = span->purge_order.newer;
  if (span == nullptr) return nullptr;
  const std::uint32_t age = std::uint32_t(os::now_ms()) - span->freed_at;
  // relaxed: see options.hpp
  return age >= options.purge_delay.load(std::memory_order_relaxed) ? span : nullptr;
}

bool SpanHeap::put_back(Span* span, DirtyCount dirty) {
  note_freed(span, dirty.units);
  sync::LockGuard guard(lock_);
  figures_.dirty_pages += dirty.pages;
  insert(span);
  return next_due() != nullptr;
}

bool SpanHeap::free(Span* span) {
  if (span->zeroed) return free_moved(span, 0);
  set_dirty(span, span->units, bytes_of(span));
  return put_back(span, {bytes_of(span) / kDirtyPage, span->units});
}

bool SpanHeap::free_moved(Span* span, std::size_t taken_over) {
  set_dirty(span, span->units, 0);
  footprint.release(bytes_of(span) - taken_over);
  return put_back(span, {0, 0});
}

bool SpanHeap::free_pages(Span* span) { return put_back(span, count_dirty(span, span->units)); }

bool SpanHeap::shrink(Span* span, std::size_t units) {
  Span* rest = unit_at(span, std::ptrdiff_t(units));
  rest->units = span->units - std::uint32_t(units);
  rest->zeroed = false;
  span->units = std::uint32_t(units);
  return free(rest);
}

void SpanHeap::free_and_unmap(Span* span) {
  set_dirty(span, span->units, bytes_of(span));
  note_freed(span, span->units);
  sync::LockGuard guard(lock_);
  figures_.dirty_pages += bytes_of(span) / kDirtyPage;
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
    footprint.commit(bytes_of(span) - dirty_pages * kDirtyPage);
    set_dirty(span, span->units, bytes_of(span));
  }
  const DirtyCount dirty = clean ? DirtyCount{0, 0} : count_dirty(span, span->units);
  // What could not be purged counts as freed now, so that the attempt is not repeated at once.
  note_freed(span, dirty.units);
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
    for (std::size_t i = 0; i < units; ++i) {
      find_span(start + i * kUnit)->set_tag(span_tag::kForeign);
    }
    forget_spans(start, units * kUnit);
    gone = os::unmap(start, units * kUnit);
    // The system refuses where a mapping would have to be split once too often.
    if (!gone) {
      cover_again(start, units * kUnit);
      claim_units(start, units);
      span->units = std::uint32_t(units);
    }
  }
  const bool clean = gone || os::purge(start, units * kUnit);
  if (clean && !gone) keep_purged(start, units * kUnit);
  if (clean) footprint.release(dirty_pages * kDirtyPage);
  DirtyCount dirty{0, 0};
  if (!gone) dirty = note_left(span, clean, how == GiveBack::kAddresses, dirty_pages);
  lock_.lock();
  if (gone) {
    // The hole is filled first, lest the heap wander through the address space.
    place_below_ = std::max(place_below_, address_of(start) + units * kUnit);
    return dirty_pages * kDirtyPage;
  }
  if (how == GiveBack::kAddresses) figures_.mapped_units += units;
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
