// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/sampled_scan.hpp"

#include <algorithm>

#include "alloc/heap/large.hpp"
#include "alloc/leaks/words.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/profile/aggregates.hpp"

namespace corbel::alloc {

// ---- the places ---------------------------------------------------------------------------------

namespace {

template <class Call>
void for_each_span(Call call) {
  walk_spans(
      [](void* c, const Span& span, void*) {
        const std::uintptr_t tag = span.tag();
        const bool is_slab = tag == span_tag::kSampled || tag >= span_tag::kFirstHeap;
        if (!is_slab && tag != span_tag::kLarge) return std::size_t(1);
        (*static_cast<Call*>(c))(span, is_slab);
        return std::size_t(span.units != 0 ? span.units : 1);
      },
      &call);
}

}  // namespace

bool HeapPlaces::find(Scratch* scratch) {
  std::size_t count = 0;
  for_each_span([&](const Span&, bool) { ++count; });
  if (!spans_.reserve(scratch, count)) return false;
  for_each_span([&](const Span& span, bool is_slab) {
    spans_.add(address_of(span.start()), is_slab ? span.bytes() : large_size(&span),
               is_slab ? StackId(span.size_class) : kLargeBlock, ScannedBlock::Mark::kNone);
  });
  first_bit_ = scratch->array<std::uint64_t>(count);
  if (!spans_.finish(scratch) || first_bit_ == nullptr) return false;
  std::uint64_t places = 0;
  for (std::uint32_t i = 0; i < spans_.count(); ++i) {
    first_bit_[i] = places;
    const StackId size_class = spans_[i].allocated_at;
    places += size_class == kLargeBlock ? 1 : kSizeClasses[size_class].capacity;
  }
  marks_ = scratch->array<std::uint64_t>(places / 64 + 1);
  // Each place is pushed once. The pages that are never used take no memory.
  stack_ = scratch->array<Place>(places);
  return marks_ != nullptr && stack_ != nullptr;
}

// A pointer just past the end of a slab or large block leads to its last block.
bool HeapPlaces::find_place(std::uintptr_t address, Place* place) const {
  const std::uint32_t i = spans_.find(address);
  if (i == BlockTable::kNone) return false;
  const ScannedBlock& span = spans_[i];
  *place = {i, 0};
  if (span.allocated_at == kLargeBlock) return true;
  const SizeClass& layout = kSizeClasses[span.allocated_at];
  const std::uint64_t offset = address - span.start;
  if (offset > std::uint64_t(layout.capacity) * layout.block_size) return false;
  place->number =
      std::min(std::uint32_t(offset / layout.block_size), std::uint32_t(layout.capacity - 1));
  return true;
}

std::uintptr_t HeapPlaces::start_of(const Place& place) const {
  return spans_[place.span].start + (place.number != 0 ? place.number * size_of(place) : 0);
}

std::size_t HeapPlaces::size_of(const Place& place) const {
  const ScannedBlock& span = spans_[place.span];
  return span.allocated_at == kLargeBlock ? span.size : kSizeClasses[span.allocated_at].block_size;
}

void HeapPlaces::follow(std::uintptr_t value) {
  Place place;
  if (!find_place(value, &place)) return;
  const std::uint64_t bit = bit_of(place);
  std::uint64_t& word = marks_[bit / 64];
  const std::uint64_t mask = std::uint64_t(1) << bit % 64;
  if ((word & mask) != 0) return;
  word |= mask;
  stack_[stack_size_++] = place;
}

void HeapPlaces::scan(const Ranges& unreadable, const std::uintptr_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) follow(words[i]);
  while (stack_size_ != 0) {
    const Place place = stack_[--stack_size_];
    for_each_word(unreadable, start_of(place), size_of(place),
                  [&](std::uintptr_t value) { follow(value); });
  }
}

bool HeapPlaces::is_reachable(std::uintptr_t block) const {
  Place place;
  if (!find_place(block, &place)) return true;
  const std::uint64_t bit = bit_of(place);
  return (marks_[bit / 64] >> bit % 64 & 1) != 0;
}

// ---- the scan -----------------------------------------------------------------------------------

LeakFindings::Result SampledScan::run(const LiveContext* own, bool may_wait) {
  own_ = own;
  // Neither the records of the samples nor which memory is metadata must change while the threads
  // stop.
  sync::Lock* const locks[] = {&samples_lock, &metadata_lock};
  std::size_t held = 0;
  for (sync::Lock* lock : locks) {
    if (may_wait) {
      lock->lock();
    } else if (!lock->try_lock_in_handler()) {
      break;
    }
    ++held;
  }
  if (held == std::size(locks)) {
    stop_outcome_ = os::with_threads_stopped(
        [](void* scan, const os::StoppedThreads& threads) {
          static_cast<SampledScan*>(scan)->scan_stopped(threads);
        },
        this);
  }
  const bool is_busy = held != std::size(locks);
  while (held != 0) locks[--held]->unlock();
  if (is_busy) return result_ = Result::kBusy;
  if (stop_outcome_.kind != os::StopOutcome::Kind::kDone) return result_ = Result::kNotStopped;
  if (result_ == Result::kDone && !add_up()) result_ = Result::kNoMemory;
  return result_;
}

void SampledScan::scan_stopped(const os::StoppedThreads& threads) {
  HeapPlaces places;
  Roots roots;
  lost_ = scratch_.array<Lost>(recorded_blocks());
  if (lost_ == nullptr || !places.find(&scratch_)) return;
  const Roots::Result found = roots.find(&scratch_, threads, own_);
  if (found != Roots::Result::kDone) {
    result_ = found == Roots::Result::kNoMappings ? Result::kNoMappings : Result::kNoMemory;
    return;
  }
  struct Visit {
    HeapPlaces* places;
    const Ranges* unreadable;
  } visit{&places, &roots.unreadable()};
  roots.for_each_piece(
      [](void* to, const std::uintptr_t* words, std::size_t n) {
        const Visit& v = *static_cast<Visit*>(to);
        v.places->scan(*v.unreadable, words, n);
      },
      &visit);
  for_each_live_block([&](const void* block, StackId stack, const Estimate& estimate) {
    if (places.is_reachable(address_of(block))) {
      LeakTotal& total = totals_[unsigned(LeakPlace::Kind::kReachable)];
      total.blocks += estimate.parts;
      total.bytes += estimate.bytes;
      ++total.samples;
    } else {
      lost_[lost_count_++] = {stack, estimate.parts, estimate.bytes};
    }
  });
  result_ = Result::kDone;
}

// Adds the lost blocks up by place. Until the end, `blocks` are parts of blocks.
bool SampledScan::add_up() {
  places_ = scratch_.array<LeakPlace>(lost_count_);
  if (places_ == nullptr) return false;
  std::sort(lost_, lost_ + lost_count_,
            [](const Lost& a, const Lost& b) { return a.stack < b.stack; });
  LeakTotal& total = totals_[unsigned(LeakPlace::Kind::kDefinite)];
  for (std::size_t i = 0; i < lost_count_; ++i) {
    const Lost& lost = lost_[i];
    if (i == 0 || lost.stack != lost_[i - 1].stack) {
      places_[place_count_++] = {LeakPlace::Kind::kDefinite, lost.stack, 0, 0, 0, 0, 0};
      ++total.places;
    }
    LeakPlace& place = places_[place_count_ - 1];
    place.blocks += lost.parts;
    place.bytes += lost.bytes;
    ++place.samples;
    total.blocks += lost.parts;
    total.bytes += lost.bytes;
    ++total.samples;
  }
  const auto whole = [](std::uint64_t parts) { return Estimate{parts, 0}.blocks(); };
  for (std::size_t i = 0; i < place_count_; ++i) places_[i].blocks = whole(places_[i].blocks);
  for (LeakTotal& each : totals_) each.blocks = whole(each.blocks);
  sort_places();
  return true;
}

}  // namespace corbel::alloc
