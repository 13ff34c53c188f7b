// SPDX-License-Identifier: Apache-2.0
// The part of the span heap that asks the system for memory, and to move it.
#include <string.h>

#include <algorithm>

#include "alloc/footprint.hpp"
#include "alloc/helper.hpp"
#include "alloc/huge_pages.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/span_parts.hpp"
#include "alloc/unmap_order.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// Gives free addresses back until so many units more fit under the limit; `kept` is not touched.
// None of the spans is large enough for what is to be mapped.
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

// The free span at the lower end of our addresses, which a chunk below it makes longer.
Span* SpanHeap::span_at_edge() const {
  Span* span = find_span(pointer_to(edge_));
  if (span->tag() != span_tag::kFree) return nullptr;
  // Not the last unit of a span that began at the edge: a chunk that another thread has mapped
  // where one was being unmapped may be noted before that one.
  const Span* below = unit_at(span, -1);
  return below->tag() == span_tag::kForeign ? span : nullptr;
}

// What to map for a request that no free span serves; false, with the shortage, if there is no room
// to commit what is fresh of it.
bool SpanHeap::plan_chunk(SpanRequest& request, ChunkPlan* plan) {
  sync::LockGuard guard(lock_);
  Span* at_edge = request.align_units == 1 ? span_at_edge() : nullptr;
  // As long as that it can only be when the search for a fit was cut short.
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
  plan->mapped = figures_.mapped_units;
  plan->least = request.units - joined;
  // Chunks grow with the heap, so that their number stays small and so does what is unused.
  const std::size_t usual = std::clamp(align_down(figures_.mapped_units / 16, kUnmapUnits),
                                       kFirstChunkUnits, kLargestChunkUnits);
  plan->roomy = align_up(plan->least, kUnmapUnits);
  plan->is_large = !large_chunk_comes_ && plan->roomy < usual;
  if (plan->is_large) {
    plan->roomy = usual;
    large_chunk_comes_ = true;
  }
  const std::size_t limit = footprint.ceiling();
  if (limit == SIZE_MAX) return true;
  unmap_for(plan->least, limit, at_edge);
  const std::size_t mapped = figures_.mapped_units;
  const std::size_t left = limit / kUnit > mapped ? limit / kUnit - mapped : 0;
  // Above the limit by little at a time.
  const std::size_t little = plan->least + std::min(mapped / 64, kFirstChunkUnits);
  plan->roomy = std::min(plan->roomy, std::max(left, little));
  return true;
}

// Where a chunk is wanted: below the edge, so that the heap lies in one piece and what is free at
// the edge becomes longer; in a hole, if it fills one; never in a hole that is too small, whose
// ends the next blocks would not fit into either.
void* SpanHeap::place_for(const ChunkPlan& plan, std::size_t size, std::size_t alignment) {
  if (!plan.joins && plan.hole.begin != 0) {
    const std::uintptr_t start = align_down(plan.hole.end - size, alignment);
    if (size < plan.hole.end && start >= plan.hole.begin) return pointer_to(start);
  }
  return plan.edge > size ? pointer_to(align_down(plan.edge - size, alignment)) : nullptr;
}

// Maps so many units; nullptr where they cannot join the edge and the plan wants that.
void* SpanHeap::map_chunk(const ChunkPlan& plan, std::size_t align_units, std::size_t units) {
  const std::size_t size = units * kUnit;
  const std::size_t alignment = std::max(align_units * kUnit, kUnit);
  void* hint = place_for(plan, size, alignment);
  // The system may choose another place, where huge pages should be possible.
  const bool may_be_huge = address_of(hint) % kHugePage == 0 && size % kHugePage == 0;
  const std::size_t best = std::max(alignment, may_be_huge ? kHugePage : kUnit);
  void* memory = os::map(size, best, hint);
  if (memory == nullptr && best != alignment) memory = os::map(size, alignment, hint);
  order_after_map();
  if (memory == nullptr || !plan.joins || memory == hint) return memory;
  os::unmap(memory, size);
  return nullptr;
}

bool SpanHeap::map_and_use(ChunkPlan& plan, SpanRequest& request) {
  std::size_t chunk = plan.roomy;
  void* memory = map_chunk(plan, request.align_units, chunk);
  if (memory == nullptr && plan.joins) {
    plan.joins = false;
    plan.roomy += request.units - plan.least;
    plan.least = request.units;
    chunk = plan.roomy;
    memory = map_chunk(plan, request.align_units, chunk);
  }
  if (memory == nullptr) {
    chunk = plan.least;
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
    // The larger of what is left of it.
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
  advise_chunk(memory, units * kUnit, request.units * kUnit, plan.mapped * kUnit);
  Span* first = find_span(memory);
  claim_units(static_cast<char*>(memory), units);
  set_dirty(first, units, 0);
  set_content(first, units, {0, 0}, 0);
  sync::LockGuard guard(lock_);
  mark_mapping(first, units);
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
  // What is not ours yet says so itself when it comes; its descriptor is not ours to touch.
  Span* behind = unit_at(first, std::ptrdiff_t(units));
  if (behind->tag() != span_tag::kForeign) behind->set_begins_mapping(true);
}

// ---- moving -----------------------------------------------------------------------------------

namespace {

// Copies units back to where they were moved from, one at a time, so that no more than one is
// resident twice: to move them back might fail.
void copy_back(Span* from, Span* to, std::size_t units) {
  for (std::size_t offset = 0; offset < units * kUnit; offset += kUnit) {
    memcpy(from->start() + offset, to->start() + offset, kUnit);
    os::purge(to->start() + offset, kUnit);
  }
}

}  // namespace

ContentMove SpanHeap::move_content(Span* from, Span* to, std::size_t units,
                                   std::size_t taken_over) {
  const std::uintptr_t tag = to->tag();
  // Once lost, the descriptor may be another's.
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
    // Not ours during the attempt: where the system loses the target, another thread may map the
    // same addresses the next moment.
    tag_units(to, begin, end, span_tag::kForeign);
    order_before_unmap();
    const os::Moved moved = os::move_pages(source, target, (end - begin) * kUnit);
    if (moved == os::Moved::kTargetLost) {
      const bool all = result == ContentMove::kCopied;
      give_up(from, start, to_units, begin, end, to_units * kUnit - (all ? 0 : taken_over));
      return ContentMove::kUndone;
    }
    {
      // Unmoved, too: a neighbour that came during the attempt has taken us for foreign.
      sync::LockGuard guard(lock_);
      mark_mapping(unit_at(to, std::ptrdiff_t(begin)), end - begin);
    }
    tag_units(to, begin, end, span_tag::kInterior);
    if (moved == os::Moved::kYes) continue;
    if (result == ContentMove::kMoved) {
      // What was to take over the count of the old pages needs one of its own.
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
  to->zeroed = os::purge(to->start(), to->bytes());
  // What the system does not take back is there, whatever the limit says.
  if (!to->zeroed) footprint.commit(taken_over);
  if (to->zeroed ? free_moved(to, taken_over) : free(to)) purge_due();
}

// The rest of what the system has lost is given up, too: the span is in two pieces now, and this is
// too rare to be worth a way to keep them.
void SpanHeap::give_up(Span* from, char* start, std::size_t units, std::size_t lost_begin,
                       std::size_t lost_end, std::size_t counted) {
  Span* const to = find_span(start);
  if (lost_begin != 0) copy_back(from, to, lost_begin);
  // Ours no more before they are gone: the next moment another thread may map the same addresses.
  tag_units(to, 0, lost_begin, span_tag::kForeign);
  tag_units(find_span(start + lost_end * kUnit), 0, units - lost_end, span_tag::kForeign);
  const auto left_of = [=](std::size_t begin, std::size_t end) {
    const std::size_t size = (end - begin) * kUnit;
    char* const part = start + begin * kUnit;
    order_before_unmap();
    return size == 0 || os::unmap(part, size) || os::purge(part, size) ? 0 : size;
  };
  // What the system will not have counts for ever, as it may be resident for ever.
  const std::size_t left = left_of(0, lost_begin) + left_of(lost_end, units);
  if (left > counted) footprint.commit(left - counted);
  if (left < counted) footprint.release(counted - left);
  sync::LockGuard guard(lock_);
  figures_.mapped_units -= units;
}

}  // namespace corbel::alloc
