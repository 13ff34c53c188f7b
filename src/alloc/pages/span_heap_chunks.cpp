// SPDX-License-Identifier: Apache-2.0
// The part of the span heap that maps chunks, and moves content from one span to another.
#include <string.h>

#include <algorithm>

#include "alloc/map/footprint.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/map/unmap_order.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/pages/span_parts.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// Unmaps free spans, but not `kept`, until `units` more units can be mapped under the limit. Free
// spans may go, because the search has found none that is large enough for the request.
void SpanHeap::unmap_for(std::size_t units, std::size_t limit, const Span* kept) {
  const std::size_t limit_units = limit / kUnit;
  std::size_t refusals = 0;
  for (std::size_t bucket = kBuckets; bucket-- > bucket_of(kUnmapUnits);) {
    for (;;) {
      Span* span = buckets_[bucket];
      if (span != nullptr && span == kept) span = span->next;
      const std::size_t wanted = figures_.mapped_units + units;
      if (span == nullptr) break;
      if (wanted <= limit_units || refusals == kMaxRefusals) return;
      const std::size_t excess = std::max(wanted - limit_units, kUnmapUnits);
      const std::size_t before = figures_.mapped_units;
      give_back(split(span, 0, excess), GiveBack::kAddresses);
      if (figures_.mapped_units >= before) ++refusals;
    }
  }
}

// The free span at the edge, which a chunk that ends at the edge would extend; nullptr if there is
// none.
Span* SpanHeap::span_at_edge() const {
  Span* span = find_span(pointer_to(edge_));
  if (span->tag() != span_tag::kFree) return nullptr;
  // The edge may be out of date: another thread may have mapped a chunk where a chunk was being
  // unmapped, and have noted its mapping before the unmapping is noted. Then the unit at the edge
  // may be the last of a free span instead of the first.
  const Span* below = unit_at(span, -1);
  return below->tag() == span_tag::kForeign ? span : nullptr;
}

namespace {

// The units of the next chunk, if the request needs no more.
std::size_t usual_chunk(std::size_t mapped_units) {
  // A small process may lock all it has, and may lock little.
  if (mapped_units == 0) return kFirstChunkUnits;
  return std::clamp(align_down(mapped_units / 16, kUnmapUnits), kMinChunkUnits, kMaxChunkUnits);
}

}  // namespace

// Decides what to map for a request that no free span can serve. False, with the shortage set, if
// there is no room to commit the clean pages that the request needs.
bool SpanHeap::plan_chunk(SpanRequest& request, ChunkPlan* plan) {
  sync::LockGuard guard(lock_);
  Span* at_edge = request.align_units == 1 ? span_at_edge() : nullptr;
  // The free span at the edge is normally too short for the request. It can be long enough if the
  // search for a fit was cut short; then there is no reason to extend it.
  const bool joins = at_edge != nullptr && at_edge->units < request.units;
  const std::size_t joined = joins ? at_edge->units : 0;
  std::size_t fresh = request.for_slab ? os::page_size() : request.units * kUnit;
  if (joined != 0 && !request.for_slab) fresh -= dirty_in(at_edge, 0, joined).pages * kDirtyPage;
  fresh -= std::min(fresh, request.moving_in);
  if (!footprint.has_room(fresh)) {
    request.shortage = fresh;
    request.kept = joined != 0 && !at_edge->zeroed ? at_edge : nullptr;
    return false;
  }
  plan->joins = joins;
  plan->edge = edge_;
  plan->hole = hole_;
  plan->mapped_units = figures_.mapped_units;
  plan->min_units = request.units - joined;
  // The chunk size grows with the heap: so the number of chunks stays small, and so does the unused
  // part of the heap.
  const std::size_t usual = usual_chunk(figures_.mapped_units);
  plan->preferred_units = align_up(plan->min_units, std::min(usual, kUnmapUnits));
  plan->is_large = !large_chunk_comes_ && plan->preferred_units < usual;
  if (plan->is_large) {
    plan->preferred_units = usual;
    large_chunk_comes_ = true;
  }
  const std::size_t limit = footprint.ceiling();
  if (limit == SIZE_MAX) return true;
  unmap_for(plan->min_units, limit, at_edge);
  const std::size_t mapped = figures_.mapped_units;
  const std::size_t left = limit / kUnit > mapped ? limit / kUnit - mapped : 0;
  // If the mapped memory must exceed the limit, let it exceed by little at a time.
  const std::size_t little = plan->min_units + std::min(mapped / 64, kMinChunkUnits);
  plan->preferred_units = std::min(plan->preferred_units, std::max(left, little));
  return true;
}

// The address to ask the system for: in the largest hole if the chunk fits there, else just below
// the edge, so that the heap is contiguous and the chunk extends the free span at the edge. Smaller
// holes are not used: the next chunks would not fit into what remained of them.
void* SpanHeap::place_for(const ChunkPlan& plan, std::size_t size, std::size_t alignment) {
  if (!plan.joins && plan.hole.begin != 0) {
    const std::uintptr_t start = align_down(plan.hole.end - size, alignment);
    if (size < plan.hole.end && start >= plan.hole.begin) return pointer_to(start);
  }
  return plan.edge > size ? pointer_to(align_down(plan.edge - size, alignment)) : nullptr;
}

namespace {

void* reserve_chunk(std::size_t size, std::size_t alignment, void* hint) {
  void* const memory = os::reserve(size, alignment, hint);
  if (!CORBEL_OS_COMMITS || memory == nullptr || size <= kMaxChunkUnits * kUnit) return memory;
  // So much may be more than the system has: found out before the page map grows for it. Nothing of
  // it is counted yet.
  if (os::commit(memory, size)) {
    os::decommit(memory, size);
    return memory;
  }
  os::unmap(memory, size);
  return nullptr;
}

}  // namespace

// Maps `units` units. nullptr if the system refuses, or if the plan requires that the chunk joins
// the edge and it does not.
void* SpanHeap::map_chunk(const ChunkPlan& plan, std::size_t align_units, std::size_t units) {
  const std::size_t size = units * kUnit;
  const std::size_t alignment = std::max(align_units * kUnit, kUnit);
  void* hint = place_for(plan, size, alignment);
  // If huge pages are possible at the hint, they should be possible wherever the system maps the
  // chunk instead.
  const bool may_be_huge = address_of(hint) % kHugePage == 0 && size % kHugePage == 0;
  const std::size_t best = std::max(alignment, may_be_huge ? kHugePage : kUnit);
  void* memory = reserve_chunk(size, best, hint);
  if (memory == nullptr && best != alignment) memory = reserve_chunk(size, alignment, hint);
  order_after_map();
  if (memory == nullptr || !plan.joins || memory == hint) return memory;
  os::unmap(memory, size);
  return nullptr;
}

bool SpanHeap::map_and_use(ChunkPlan& plan, SpanRequest& request) {
  std::size_t chunk = plan.preferred_units;
  void* memory = map_chunk(plan, request.align_units, chunk);
  if (memory == nullptr && plan.joins) {
    plan.joins = false;
    plan.preferred_units += request.units - plan.min_units;
    plan.min_units = request.units;
    chunk = plan.preferred_units;
    memory = map_chunk(plan, request.align_units, chunk);
  }
  if (memory == nullptr) {
    chunk = plan.min_units;
    memory = map_chunk(plan, request.align_units, chunk);
  }
  if (memory == nullptr && unlock_page_map()) {
    memory = map_chunk(plan, request.align_units, chunk);
  }
  if (memory == nullptr) {
    unmap_all();
    memory = map_chunk(plan, request.align_units, chunk);
  }
  return memory != nullptr && use_chunk(memory, chunk, plan, request);
}

bool SpanHeap::add_chunk(SpanRequest& request) {
  ChunkPlan plan;
  if (!plan_chunk(request, &plan)) return false;
  const bool is_added = map_and_use(plan, request);
  if (plan.is_large) {
    sync::LockGuard guard(lock_);
    large_chunk_comes_ = false;
  }
  return is_added;
}

void SpanHeap::note_mapped(std::uintptr_t begin, std::uintptr_t end) {
  if (begin >= hole_.begin && end <= hole_.end) {
    // Keep the larger part of the hole.
    (begin - hole_.begin > hole_.end - end ? hole_.end : hole_.begin) =
        begin - hole_.begin > hole_.end - end ? begin : end;
  } else {
    edge_ = begin;
  }
}

void SpanHeap::note_unmapped(std::uintptr_t begin, std::uintptr_t end) {
  if (begin == edge_) {
    edge_ = end;
  } else if (end == hole_.begin) {
    hole_.begin = begin;
  } else if (begin == hole_.end) {
    hole_.end = end;
  } else if (end - begin > hole_.end - hole_.begin) {
    hole_ = {begin, end};
  }
}

bool SpanHeap::use_chunk(void* memory, std::size_t units, const ChunkPlan& plan,
                         SpanRequest& request) {
  const Cover covered = cover_with_spans(memory, units * kUnit);
  if (covered != Cover::kDone) {
    os::unmap(memory, units * kUnit);
    if (covered == Cover::kShort) request.shortage = os::page_size();
    return false;
  }
  advise_chunk(memory, units * kUnit, request.units * kUnit, plan.mapped_units * kUnit);
  Span* first = find_span(memory);
  claim_units(static_cast<char*>(memory), units);
  set_dirty(first, units, 0);
  set_content(first, units, {0, 0}, 0);
  sync::LockGuard guard(lock_);
  mark_mapping(first, units);
  enter_area(first, units);
  figures_.mapped_units += units;
  figures_.peak_units = std::max(figures_.peak_units, figures_.mapped_units);
  ++figures_.map_calls;
  note_mapped(address_of(memory), address_of(memory) + units * kUnit);
  note_mapped_bytes(figures_.mapped_units * kUnit);
  insert(first);
  return true;
}

void SpanHeap::mark_mapping(Span* first, std::size_t units) {
  first->set_begins_mapping(true);
  // The unit after them begins another mapping. If it is not ours, its descriptor must not be
  // touched; the unit is marked when we map it.
  Span* after = unit_at(first, std::ptrdiff_t(units));
  if (after->tag() != span_tag::kForeign) after->set_begins_mapping(true);
}

// ---- moving -----------------------------------------------------------------------------------

namespace {

// Copies units back to where they were moved from, because moving them back might fail. Copies and
// decommits one unit at a time, so that at most one unit is resident twice.
void copy_back(Span* from, Span* to, std::size_t units) {
  for (std::size_t offset = 0; offset < units * kUnit; offset += kUnit) {
    memcpy(from->start() + offset, to->start() + offset, kUnit);
    os::decommit(to->start() + offset, kUnit);
  }
}

}  // namespace

ContentMove SpanHeap::move_content(Span* from, Span* to, std::size_t units,
                                   std::size_t taken_over) {
  const std::uintptr_t tag = to->tag();
  // Read these now: once the system has lost a part of `to`, another thread may map the addresses
  // and overwrite the descriptor.
  char* const start = to->start();
  const std::size_t to_units = to->units;
  ContentMove result = ContentMove::kMoved;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < units; begin = end) {
    // The system moves no more than one mapping at a time.
    for (end = begin + 1; end < units; ++end) {
      if (unit_at(from, std::ptrdiff_t(end))->begins_mapping()) break;
    }
    char* source = from->start() + begin * kUnit;
    char* target = to->start() + begin * kUnit;
    // Tag the target as foreign during the attempt: if the system loses it, another thread may map
    // the same addresses at once and tag them.
    Span* const part = unit_at(to, std::ptrdiff_t(begin));
    {
      sync::LockGuard guard(lock_);
      leave_area(part, end - begin);
    }
    tag_units(to, begin, end, span_tag::kForeign);
    order_before_unmap();
    const os::Moved moved = os::move_pages(source, target, (end - begin) * kUnit);
    if (moved == os::Moved::kTargetLost) {
      const bool all = result == ContentMove::kCopied;
      give_up(from, start, to_units, begin, end, to_units * kUnit - (all ? 0 : taken_over));
      return ContentMove::kUndone;
    }
    {
      // Needed even if nothing moved: a thread that mapped the memory before these units during the
      // attempt found them foreign and did not mark them.
      sync::LockGuard guard(lock_);
      enter_area(part, end - begin);
      mark_mapping(part, end - begin);
    }
    tag_units(to, begin, end, span_tag::kInterior);
    if (moved == os::Moved::kYes) continue;
    if (result == ContentMove::kMoved) {
      // The source keeps its pages and their count, so the target needs a count of its own.
      if (taken_over != 0 && !footprint.try_commit(taken_over)) {
        take_back(from, to, begin, taken_over);
        return ContentMove::kUndone;
      }
      result = ContentMove::kCopied;
    }
    memcpy(target, source, (end - begin) * kUnit);
  }
  to->set_tag(tag);
  return result;
}

void SpanHeap::take_back(Span* from, Span* to, std::size_t moved_units, std::size_t taken_over) {
  copy_back(from, to, moved_units);
  to->zeroed = os::decommit(to->start(), to->bytes());
  // Memory that the system does not take back is resident, and must be counted even above a limit.
  if (!to->zeroed) footprint.commit(taken_over);
  if (to->zeroed ? free_moved(to, taken_over) : free(to)) purge_due();
}

// Unmaps the two remaining pieces of a span of which the system has lost a part. The case is too
// rare to be worth keeping them.
void SpanHeap::give_up(Span* from, char* start, std::size_t units, std::size_t lost_begin,
                       std::size_t lost_end, std::size_t counted) {
  Span* const to = find_span(start);
  if (lost_begin != 0) copy_back(from, to, lost_begin);
  // Tag the pieces as foreign before they are unmapped: another thread may map the same addresses
  // at once.
  Span* const after = find_span(start + lost_end * kUnit);
  {
    sync::LockGuard guard(lock_);
    if (lost_begin != 0) leave_area(to, lost_begin);
    if (lost_end != units) leave_area(after, units - lost_end);
  }
  tag_units(to, 0, lost_begin, span_tag::kForeign);
  tag_units(after, 0, units - lost_end, span_tag::kForeign);
  const auto left_of = [=](std::size_t begin, std::size_t end) {
    const std::size_t size = (end - begin) * kUnit;
    char* const part = start + begin * kUnit;
    order_before_unmap();
    return size == 0 || os::unmap(part, size) || os::decommit(part, size) ? 0 : size;
  };
  // Memory that the system does not take back stays counted, because it may stay resident.
  const std::size_t left = left_of(0, lost_begin) + left_of(lost_end, units);
  if (left > counted) footprint.commit(left - counted);
  if (left < counted) footprint.release(counted - left);
  sync::LockGuard guard(lock_);
  figures_.mapped_units -= units;
}

}  // namespace corbel::alloc
