// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/scan.hpp"

#include <algorithm>
#include <tuple>

#include "alloc/leaks/marking.hpp"
#include "alloc/map/metadata.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

namespace {

using LeakKind = LeakPlace::Kind;
using BlockMark = ScannedBlock::Mark;

LeakKind kind_of(const ScannedBlock& block) {
  switch (block.mark()) {
    case BlockMark::kReached:
      return LeakKind::kReachable;
    case BlockMark::kNone:
      return LeakKind::kDefinite;
    default:
      return LeakKind::kPossible;
  }
}

}  // namespace

LeakFindings::Result LeakScan::run(const BlockSource& source, const LiveContext* own,
                                   bool may_wait) {
  own_ = own;
  source_ = &source;
  // Which memory is metadata must not change while the threads stop.
  if (may_wait) {
    metadata_lock.lock();
  } else if (!metadata_lock.try_lock_in_handler()) {
    return result_ = Result::kBusy;
  }
  stop_outcome_ = os::with_threads_stopped(
      [](void* scan, const os::StoppedThreads& threads) {
        static_cast<LeakScan*>(scan)->scan_stopped(threads);
      },
      this);
  metadata_lock.unlock();
  if (stop_outcome_.kind != os::StopOutcome::Kind::kDone) return result_ = Result::kNotStopped;
  if (result_ == Result::kDone && !add_up()) result_ = Result::kNoMemory;
  return result_;
}

void LeakScan::scan_stopped(const os::StoppedThreads& threads) {
  std::size_t count = 0;
  source_->for_each(
      [](void* n, std::uintptr_t, std::size_t, StackId, bool) { ++*static_cast<std::size_t*>(n); },
      &count);
  if (!blocks_.reserve(&scratch_, count)) return;
  source_->for_each(
      [](void* to, std::uintptr_t start, std::size_t size, StackId stack, bool settled) {
        static_cast<BlockTable*>(to)->add(start, size, stack,
                                          settled ? BlockMark::kNone : BlockMark::kReached);
      },
      &blocks_);
  Roots roots;
  const Roots::Result found = roots.find(&scratch_, threads, own_);
  if (found != Roots::Result::kDone) {
    result_ = found == Roots::Result::kNoMappings ? Result::kNoMappings : Result::kNoMemory;
    return;
  }
  Marking marking(&blocks_, &roots.constants(), &roots.unreadable());
  if (!blocks_.finish(&scratch_) || !marking.set_up(&scratch_)) return;
  // The table of the blocks knows where the first begins and the last ends.
  roots.exclude(address_of(this), address_of(this + 1));
  roots.for_each_piece([](void* to, const std::uintptr_t* words,
                          std::size_t n) { static_cast<Marking*>(to)->scan_root(words, n); },
                       &marking);
  marking.finish();
  result_ = Result::kDone;
}

// Adds the blocks up by kind and place. The indirect leaks count at the place of their direct one.
bool LeakScan::add_up() {
  const std::uint32_t count = blocks_.count();
  auto* order = scratch_.array<std::uint32_t>(count);
  places_ = scratch_.array<LeakPlace>(count);
  if (order == nullptr || places_ == nullptr) return false;
  // What counts: an indirect leak as its leader.
  const auto counted = [&](std::uint32_t i) -> const ScannedBlock& {
    return blocks_[i].mark() == BlockMark::kNone ? blocks_[blocks_[i].leader] : blocks_[i];
  };
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  const auto key = [&](std::uint32_t i) {
    const ScannedBlock& block = counted(i);
    return std::tuple(kind_of(block), block.allocated_at);
  };
  std::sort(order, order + count,
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto [kind, stack] = key(order[i]);
    LeakTotal& total = totals_[unsigned(kind)];
    if (place_count_ == 0 || places_[place_count_ - 1].kind != kind ||
        places_[place_count_ - 1].stack != stack) {
      places_[place_count_++] = {kind, stack, 0, 0, 0, 0, 0};
      ++total.places;
    }
    LeakPlace& place = places_[place_count_ - 1];
    const ScannedBlock& block = blocks_[order[i]];
    const bool indirect = &block != &counted(order[i]);
    (indirect ? place.indirect_blocks : place.blocks) += 1;
    (indirect ? place.indirect_bytes : place.bytes) += block.size;
    total.blocks += 1;
    total.bytes += block.size;
  }
  sort_places();
  return true;
}

}  // namespace corbel::alloc
