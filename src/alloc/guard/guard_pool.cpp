// SPDX-License-Identifier: Apache-2.0
#include "alloc/guard/guard_pool.hpp"

#include <algorithm>
#include <bit>

#include "alloc/check/pattern.hpp"
#include "alloc/heap/allocate.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr std::size_t kSlotsPerLive = 8;

// What malloc promises for a block of this size.
std::size_t alignment_for(const BlockRequest& request) {
  return std::max<std::size_t>(request.alignment, request.size <= 8 ? 8 : 16);
}

}  // namespace

bool GuardPool::set_up(std::size_t max_live) {
  page_ = os::page_size();
  const std::size_t bytes = align_up(2 * kSlotsPerLive * max_live * page_, kUnit);
  count_ = Index(bytes / page_ / 2 - 1);
  max_live_ = Index(max_live);
  random_ = os::random_word() | 1;
  slots_ = static_cast<Slot*>(allocate_metadata(count_ * sizeof(Slot)));
  if (slots_ == nullptr) return false;
  auto* const begin = static_cast<char*>(os::reserve(bytes, kUnit, nullptr));
  if (begin == nullptr) return false;
  if (!enter(begin, bytes)) {
    os::unmap(begin, bytes);
    return false;
  }
  begin_ = begin;
  for (Index i = 0; i < count_; ++i) push(i);
  return true;
}

bool GuardPool::enter(char* begin, std::size_t bytes) {
  // Where the process locks its memory, the system has made all of the range resident.
  os::unlock(begin, bytes);
  os::decommit(begin, bytes);
  if (!os::protect(begin, bytes, os::Access::kNone)) return false;
  if (cover_with_spans(begin, bytes) != Cover::kDone) return false;
  for (std::size_t i = 0; i < bytes; i += kUnit) {
    Span* const span = find_span(begin + i);
    span->unit = std::uint32_t(address_of(begin + i) / kUnit);
    span->set_begins_mapping(true);
    span->set_tag(span_tag::kGuarded);
  }
  return true;
}

bool GuardPool::has_room(const BlockRequest& request) const {
  return live_.load(std::memory_order_relaxed) < max_live_ && request.size <= page_ &&
         request.alignment <= page_;
}

void GuardPool::decommit(const BlockRef& block) {
  if (!os::decommit(block.raw, page_)) return;
  footprint.release(page_);
  slots_[slot_of(block)].is_counted = false;
}

GuardPool::Index GuardPool::pop(bool* at_end) {
  const std::size_t live = live_.load(std::memory_order_relaxed);
  if (live == max_live_ || first_ == kNone) return kNone;
  live_.store(live + 1, std::memory_order_relaxed);
  const Index slot = first_;
  first_ = slots_[slot].next;
  if (first_ == kNone) last_ = kNone;
  // Xorshift (Marsaglia, 2003).
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  *at_end = random_ >> 63 != 0;
  return slot;
}

void GuardPool::push(Index slot) {
  slots_[slot].next = kNone;
  (first_ == kNone ? first_ : slots_[last_].next) = slot;
  last_ = slot;
}

BlockRef GuardPool::take(const BlockRequest& request) {
  if (!has_room(request)) return {};
  Index slot;
  bool at_end = false;
  {
    sync::LockGuard guard(samples_lock);
    slot = pop(&at_end);
  }
  if (slot == kNone) return {};
  const BlockRef block = block_of(slot);
  bool& is_counted = slots_[slot].is_counted;
  is_counted = is_counted || footprint.try_commit(page_);
  if (!is_counted || !os::commit(block.raw, page_) ||
      !os::protect(block.raw, page_, os::Access::kAll)) {
    if (is_counted) decommit(block);
    free_slot(slot);
    return {};
  }
  block.take();
  BlockRecord& record = *block.record;
  // At one end of the slot, at random: an access beyond that end faults at once. The other end is
  // watched by the canary.
  const std::size_t alignment = alignment_for(request);
  record.front = at_end ? std::uint32_t(align_down(page_ - request.size, alignment)) : 0;
  record.size = request.size;
  record.log_alignment =
      request.alignment > kMinAlignment ? std::uint64_t(std::countr_zero(request.alignment)) : 0;
  fill_canary(block.raw, block.begin());
  fill_canary(block.begin() + request.size, block.raw + page_);
  return block;
}

void GuardPool::give_back(const BlockRef& block) {
  // First the state: from now on, an access is one to a freed block.
  block.set_state(BlockState::kQuarantined);
  os::protect(block.raw, page_, os::Access::kNone);
  decommit(block);
  free_slot(slot_of(block));
}

void GuardPool::free_slot(Index slot) {
  sync::LockGuard guard(samples_lock);
  push(slot);
  live_.store(live_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

BlockRef GuardPool::find(const void* address) const {
  const std::uintptr_t offset = address_of(address) - address_of(begin_);
  if (begin_ == nullptr || offset >= (2 * std::size_t(count_) + 1) * page_) return {};
  const auto known = [&](std::size_t slot) -> BlockRef {
    if (slot >= count_) return {};
    const BlockRef block = block_of(Index(slot));
    return block.state() != BlockState::kNone ? block : BlockRef{};
  };
  const std::size_t page = offset / page_;
  if (page % 2 != 0) return known(page / 2);
  // A guard page: the nearer slot is the likelier one.
  const std::size_t after = page / 2;
  const bool is_nearer_before = offset % page_ < page_ / 2;
  const BlockRef nearer = known(is_nearer_before ? after - 1 : after);
  return nearer ? nearer : known(is_nearer_before ? after : after - 1);
}

}  // namespace corbel::alloc
