// SPDX-License-Identifier: Apache-2.0
#include "alloc/pages/span_heap.hpp"

#include <algorithm>

#include "alloc/map/footprint.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_parts.hpp"

namespace corbel::alloc {

constinit SpanHeap span_heap;

namespace {

// Below this footprint, one resident slab of each class would be a large part of the heap.
constexpr std::size_t kSparseBelow = std::size_t(8) << 20;

// In a larger free span, looking for dirty units would take longer than to fault a page.
constexpr std::size_t kMaxSearched = 4096;

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
  span->purge_order = {nullptr, nullptr};
  if (!span->zeroed) {
    link_for_purge(span);
  } else if (is_island(span)) {
    link_island(span);
  }
}

bool SpanHeap::is_in_purge_order(const Span* span) const {
  return span->purge_order.older != nullptr || span->purge_order.newer != nullptr ||
         oldest_ == span;
}

void SpanHeap::link_island(Span* span) {
  span->freed_at = std::uint32_t(os::now_ms());
  link_for_purge(span);
}

void SpanHeap::link_for_purge(Span* span) {
  figures_.dirty_units += span->dirty_units;
  // Find the place in the purge order. Nearly always the span is the newest, or a rest of the
  // oldest. Elsewhere the order may be approximate, so the search is bounded.
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
  note_oldest();
}

void SpanHeap::unlink(Span* span) {
  mark(span, span_tag::kInterior);
  const std::size_t bucket = bucket_of(span->units);
  (span->prev != nullptr ? span->prev->next : buckets_[bucket]) = span->next;
  if (span->next != nullptr) span->next->prev = span->prev;
  if (buckets_[bucket] == nullptr) non_empty_[bucket / 64] &= ~(std::uint64_t(1) << (bucket % 64));
  figures_.free_units -= span->units;
  if (!is_in_purge_order(span)) return;
  figures_.dirty_units -= span->dirty_units;
  Span* const older = span->purge_order.older;
  Span* const newer = span->purge_order.newer;
  (older != nullptr ? older->purge_order.newer : oldest_) = newer;
  (newer != nullptr ? newer->purge_order.older : newest_) = older;
  note_oldest();
}

void SpanHeap::insert(Span* span) {
  const auto absorb = [](Span* whole, const Span* part) {
    // The age of the whole is the average of its parts, weighted by their dirty units. So a trickle
    // of small young pieces does not keep a big old one from being purged, and a small old piece
    // does not cause a big young one to be purged early.
    const auto later = std::int64_t(std::int32_t(part->freed_at - whole->freed_at));
    const std::int64_t all = std::int64_t(whole->dirty_units) + part->dirty_units;
    if (all != 0) {
      const std::int64_t share = later * part->dirty_units * 2 / all;
      whole->freed_at += std::uint32_t((share + (share < 0 ? -1 : 1)) / 2);
    }
    whole->dirty_units += part->dirty_units;
    whole->units += part->units;
    whole->zeroed = whole->zeroed && part->zeroed;
    whole->all_dirty = whole->all_dirty && part->all_dirty;
  };
  Span* before = unit_at(span, -1);
  if (before->tag() == span_tag::kFree) {
    before = unit_at(span, -std::ptrdiff_t(before->units));
    unlink(before);
    absorb(before, span);
    span = before;
  }
  Span* after = unit_at(span, std::ptrdiff_t(span->units));
  if (after->tag() == span_tag::kFree) {
    unlink(after);
    absorb(span, after);
  }
  link(span);
}

// ---- taking -----------------------------------------------------------------------------------

Span* SpanHeap::search_bucket(std::size_t bucket, const SpanRequest& request) const {
  // From 64 units on, the sizes in a bucket differ by up to 1/8, so some spans may be too small. A
  // long search for one that fits costs more than taking a span from a larger bucket.
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

// Takes clean units from the beginning or the end of one of the largest free spans, which are the
// most likely to contain untouched memory. nullptr if these spans have no clean units there.
Span* SpanHeap::take_clean(SpanRequest& request) {
  int tries = 8;
  for (std::size_t word = std::size(non_empty_); word-- > 0;) {
    for (std::uint64_t left = non_empty_[word]; left != 0;) {
      const unsigned bit = log2_floor(left);
      left &= ~(std::uint64_t(1) << bit);
      Span* const span = buckets_[word * 64 + bit];
      if (span->units < request.units || tries-- == 0) return nullptr;
      for (const std::size_t lead : {std::size_t(0), span->units - request.units}) {
        if (dirty_in(span, lead, request.units).pages == 0) return take_from(span, lead, request);
      }
    }
  }
  return nullptr;
}

// The unit of a free span from which to take the request, so that it gets the most dirty pages: the
// first one, the first dirty one, or the last one from which it fits.
std::size_t SpanHeap::best_lead(const Span* span, const SpanRequest& request) {
  const std::size_t first = lead_in(span, request.align_units);
  if (span->zeroed || span->all_dirty || span->units > kMaxSearched) return first;
  const std::size_t last =
      align_down(span->unit + span->units - request.units, request.align_units) - span->unit;
  const std::size_t dirty = align_down(span->unit + clean_lead(span), request.align_units);
  const std::size_t at_dirty =
      std::min(std::max(dirty, span->unit + first), span->unit + last) - span->unit;
  const auto pages = [&](std::size_t lead) { return dirty_in(span, lead, request.units).pages; };
  const std::size_t best = pages(at_dirty) > pages(first) ? at_dirty : first;
  return pages(last) > pages(best) ? last : best;
}

Span* SpanHeap::take(SpanRequest& request) {
  if (request.sparse && footprint.bytes() < kSparseBelow && !may_have_huge_pages()) {
    if (Span* clean = take_clean(request)) return clean;
  }
  Span* const fit = find_fit(request);
  if (footprint.has_room(request.units * kUnit)) {
    return fit != nullptr ? take_from(fit, best_lead(fit, request), request) : nullptr;
  }
  // No room for all pages of a span: try spans whose pages are partly counted already. A clean span
  // for a slab needs no room now, but it will when its pages are committed, so it is the last
  // choice.
  const bool is_last = fit != nullptr && fit->zeroed && request.for_slab;
  if (fit != nullptr && !is_last) {
    if (Span* taken = take_counted(fit, request)) return taken;
    const std::size_t counted = request.units - (request.shortage + request.taken_over) / kUnit;
    if (!fit->zeroed && fit->dirty_units < counted + request.units / 4) request.kept = fit;
  }
  const std::size_t shortage = request.shortage;
  constexpr int kTries = 32;
  Span* span = newest_;
  for (int i = 0; i < kTries && span != nullptr; ++i, span = span->purge_order.older) {
    if (span->units < lead_in(span, request.align_units) + request.units) continue;
    if (Span* taken = take_counted(span, request)) return taken;
  }
  request.shortage = shortage;
  return is_last ? take_from(fit, lead_in(fit, request.align_units), request) : nullptr;
}

// Takes a part of a free span when the limit is near. First tries the end of the span, so that the
// rest can be extended downwards by the next chunk (plan_chunk). If there is no room for the clean
// pages of that part, takes the part with the fewest clean pages.
Span* SpanHeap::take_counted(Span* span, SpanRequest& request) {
  const std::size_t last =
      align_down(span->unit + span->units - request.units, request.align_units) - span->unit;
  if (Span* taken = take_from(span, last, request)) return taken;
  return take_from(span, best_lead(span, request), request);
}

// Takes the requested units from a free span, from its unit number `lead` on, and counts their
// clean pages in the footprint. nullptr, with the shortage set, if there is no room for those.
Span* SpanHeap::take_from(Span* span, std::size_t lead, SpanRequest& request) {
  const DirtyCount dirty = dirty_in(span, lead, request.units);
  std::size_t fresh = 0;
  if (!request.for_slab || dirty.pages != 0) {
    fresh = request.units * kUnit - dirty.pages * kDirtyPage;
    request.taken_over = std::min(fresh, request.moving_in);
    fresh -= request.taken_over;
  }
  request.shortage = footprint.try_commit(fresh) ? 0 : fresh;
  return request.shortage == 0 ? cut(span, lead, request.units, dirty) : nullptr;
}

// Cuts `units` units out of a free span, from its unit number `lead` on, and links what remains
// before and after them. `dirty` is the count of the dirty pages in these units.
Span* SpanHeap::cut(Span* span, std::size_t lead, std::size_t units, DirtyCount dirty) {
  unlink(span);
  figures_.dirty_pages -= dirty.pages;
  const std::uint32_t freed_at = span->freed_at;
  const bool all_dirty = span->all_dirty;
  const std::size_t tail = span->units - lead - units;
  // Count the dirty units of the shorter remainder; the other remainder has all others.
  const std::size_t left = span->dirty_units - dirty.units;
  const std::size_t lead_dirty = lead <= tail ? dirty_in(span, 0, lead).units
                                              : left - dirty_in(span, lead + units, tail).units;
  Span* result = unit_at(span, std::ptrdiff_t(lead));
  const auto link_part = [&](Span* part, std::size_t part_units, std::size_t dirty_units) {
    if (part_units == 0) return;
    const std::size_t pages = all_dirty ? part_units * kPagesInUnit : 0;
    set_content(part, part_units, {pages, dirty_units}, freed_at);
    link(part);
  };
  link_part(unit_at(result, std::ptrdiff_t(units)), tail, left - lead_dirty);
  link_part(span, lead, lead_dirty);
  set_content(result, units, dirty, freed_at);
  return result;
}

namespace {

// Gives back what a commit that was refused has committed nevertheless: the clean pages of the span
// are not counted.
void decommit_clean(const Span* span) {
  const std::size_t pages = span->units * kPagesInUnit;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= pages; ++i) {
    if (i < pages) {
      const PageMask dirty = *page_masks(span->unit + i / kPagesInUnit);
      if ((dirty >> i % kPagesInUnit & 1) == 0) continue;
    }
    if (begin < i) {
      os::decommit(span->start() + begin * kDirtyPage, (i - begin) * kDirtyPage);
    }
    begin = i + 1;
  }
}

}  // namespace

// Commits the clean pages of a span that was taken. If memory is exhausted, frees the span and
// returns false.
bool SpanHeap::commit_clean(Span* span, const SpanRequest& request) {
  if (span->all_dirty || (request.for_slab && span->zeroed)) return true;
  if (commit(span->start(), span->bytes())) return true;
  // The bits of its pages have not changed since it was free.
  decommit_clean(span);
  const DirtyCount dirty = count_dirty(span, span->units);
  footprint.release(span->bytes() - dirty.pages * kDirtyPage - request.taken_over);
  if (put_back(span, dirty)) purge_due();
  return false;
}

Span* SpanHeap::allocate(SpanRequest& request) {
  request.shortage = 0;
  request.kept = nullptr;
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
    if (span != nullptr) return commit_clean(span, request) ? span : nullptr;
    if (request.shortage != 0) return nullptr;
    // Where the container is short of memory, free memory is not worth keeping.
    if (memory_is_short()) purge_all(0);
    // Another thread may take the new chunk before the next iteration. The loop then repeats, but
    // the process as a whole has made progress.
    if (!add_chunk(request)) return nullptr;
  }
}

// Makes `units` units of a free span, from its unit number `lead` on, a free span of their own.
Span* SpanHeap::split(Span* span, std::size_t lead, std::size_t units) {
  if (units >= span->units) return span;
  const DirtyCount dirty = dirty_in(span, lead, units);
  Span* part = cut(span, lead, units, dirty);
  figures_.dirty_pages += dirty.pages;
  link(part);
  return part;
}

bool SpanHeap::grow(Span* span, std::size_t units, std::size_t* shortage) {
  *shortage = 0;
  Span* const after = unit_at(span, std::ptrdiff_t(span->units));
  {
    sync::LockGuard guard(lock_);
    if (after->tag() != span_tag::kFree) return false;
    // The unit after ours has the tag of a free span's first or last unit. It is the first one,
    // because the unit before it is ours.
    if (span->units + after->units < units) return false;
    const std::size_t more = units - span->units;
    const DirtyCount dirty = dirty_in(after, 0, more);
    const std::size_t fresh = more * kUnit - dirty.pages * kDirtyPage;
    if (!footprint.try_commit(fresh)) {
      *shortage = fresh;
      return false;
    }
    cut(after, 0, more, dirty);
    span->units = std::uint32_t(units);
  }
  const SpanRequest request{.units = after->units};
  if (commit_clean(after, request)) return true;
  span->units -= std::uint32_t(request.units);
  return false;
}

// ---- giving -----------------------------------------------------------------------------------

bool SpanHeap::put_back(Span* span, DirtyCount dirty) {
  note_freed(span, dirty);
  sync::LockGuard guard(lock_);
  figures_.dirty_pages += dirty.pages;
  insert(span);
  return next_due() != nullptr;
}

bool SpanHeap::free(Span* span) {
  if (span->zeroed) return free_moved(span, 0);
  set_dirty(span, span->units, span->bytes());
  return put_back(span, {span->bytes() / kDirtyPage, span->units});
}

bool SpanHeap::free_moved(Span* span, std::size_t taken_over) {
  set_dirty(span, span->units, 0);
  footprint.release(span->bytes() - taken_over);
  return put_back(span, {0, 0});
}

bool SpanHeap::free_pages(Span* span) { return put_back(span, count_dirty(span, span->units)); }

bool SpanHeap::shrink(Span* span, std::size_t units, std::size_t tail) {
  Span* rest = unit_at(span, std::ptrdiff_t(units));
  rest->units = span->units - std::uint32_t(units);
  span->units = std::uint32_t(units);
  set_dirty(rest, rest->units, rest->bytes() - tail);
  return free_pages(rest);
}

}  // namespace corbel::alloc
