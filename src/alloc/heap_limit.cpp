// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap_limit.hpp"

#include <errno.h>

#include <algorithm>

#include "alloc/footprint.hpp"
#include "alloc/reclaim.hpp"

namespace corbel::alloc {

constinit HeapLimit heap_limit;

namespace {

constexpr std::size_t kLeastStep = std::size_t(256) << 10;
// Searches that find room which other threads then take.
constexpr unsigned kMostAttempts = 64;

// A request inside the callback does not call it again.
thread_local constinit bool in_callback = false;

// What a limit leaves for a footprint that is to grow by so much; some more is freed at once, so
// that the next page does not search again.
std::size_t target_below(std::size_t limit, std::size_t bytes) {
  const std::size_t slack = std::min(limit / 128, std::size_t(1) << 20);
  return limit > bytes + slack ? limit - bytes - slack : 0;
}

}  // namespace

// relaxed throughout: see heap_limit.hpp

bool HeapLimit::is_over_soft() const {
  const std::size_t limit = soft();
  return limit != kNone && footprint.bytes() > limit;
}

bool HeapLimit::fits_hard(std::size_t bytes) const {
  const std::size_t limit = hard();
  return limit == kNone || (bytes <= limit && footprint.bytes() <= limit - bytes);
}

void HeapLimit::publish() {
  const std::size_t most = hard() == kNone ? SIZE_MAX : hard();
  const bool is_lifted = soft() != kNone && level_ > soft();
  footprint.set_bounds(std::min(level_, most), most, is_lifted ? soft() : SIZE_MAX);
}

void HeapLimit::set(std::size_t soft, std::size_t hard) {
  sync::LockGuard guard(lock_);
  soft_.store(soft, std::memory_order_relaxed);
  hard_.store(hard, std::memory_order_relaxed);
  level_ = soft == kNone ? SIZE_MAX : soft;
  publish();
}

void HeapLimit::enforce(Heap* heap) {
  const std::size_t limit = footprint.ceiling();
  if (footprint.bytes() <= limit) return;
  reclaims_.fetch_add(1, std::memory_order_relaxed);
  make_room(heap, limit, nullptr);
}

void HeapLimit::set_callback(corbel_limit_callback callback, void* context) {
  sync::LockGuard guard(lock_);
  callback_ = callback;
  context_ = context;
}

void HeapLimit::lift_ceiling(std::size_t bytes, unsigned attempt) {
  sync::LockGuard guard(lock_);
  const std::size_t limit = soft();
  if (limit == kNone) return;
  const std::size_t wanted = footprint.bytes() + bytes;
  if (wanted <= level_) return;
  if (level_ == limit) ++episodes_;
  // Other threads may be quicker to use the room: then the steps become longer.
  level_ = wanted + (std::max(wanted / 64, kLeastStep) << std::min(attempt, 8U));
  publish();
}

void HeapLimit::fell(std::size_t before, std::size_t after) {
  sync::LockGuard guard(lock_);
  const std::size_t limit = soft();
  if (limit == kNone || level_ <= limit) return;
  if (before > limit) exceeded_most_ = std::max(exceeded_most_, before - limit);
  if (after > limit) return;
  level_ = limit;
  publish();
}

void HeapLimit::pass_soft(Heap* heap, std::size_t bytes, unsigned attempt, const Span* kept) {
  const std::size_t limit = soft();
  if (limit == kNone) return;
  reclaims_.fetch_add(1, std::memory_order_relaxed);
  // Once the limit is exceeded the footprint stays where it is as long as there is anything free:
  // what is free now is mostly used again, and if not, age gives it back (SpanHeap::next_due).
  const std::size_t ceiling = std::max(limit, footprint.ceiling());
  make_room(heap, target_below(ceiling, bytes), kept);
  lift_ceiling(bytes, attempt);
}

LimitFigures HeapLimit::figures() {
  const std::size_t now = footprint.bytes();
  sync::LockGuard guard(lock_);
  const std::size_t limit = soft();
  if (limit != kNone && level_ > limit && now > limit) {
    exceeded_most_ = std::max(exceeded_most_, now - limit);
  }
  return {limit,
          hard(),
          footprint.peak(),
          reclaims_.load(std::memory_order_relaxed),
          episodes_,
          exceeded_most_,
          refusals_.load(std::memory_order_relaxed)};
}

// ---- one request ------------------------------------------------------------------------------

bool Relief::find(std::size_t shortage, const Span* kept) {
  if (shortage == 0) {
    if (asked_system_) return false;
    asked_system_ = true;
    return reclaim(heap_);
  }
  const unsigned attempt = attempts_++;
  if (!heap_limit.fits_hard(shortage)) return pass_hard(shortage, kept);
  heap_limit.pass_soft(heap_, shortage, attempt, kept);
  return true;
}

// Whether so much has been given back that another attempt is worth while.
bool Relief::give_back(std::size_t bytes, const Span* kept) {
  const std::size_t limit = heap_limit.hard();
  // For more than the limit there is no room, however much is given back.
  if (limit != HeapLimit::kNone && bytes > limit) return false;
  heap_limit.reclaims_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t before = footprint.bytes();
  make_room(heap_, target_below(limit, bytes), kept);
  if (heap_limit.fits_hard(bytes)) return true;
  if (gave_all_) return false;
  // What is kept may hold more than will be taken; and of memory that has just become clean a slab
  // wants less than it did.
  gave_all_ = true;
  if (kept != nullptr) make_room(heap_, 0, nullptr);
  return footprint.bytes() < before;
}

bool Relief::pass_hard(std::size_t bytes, const Span* kept) {
  if (attempts_ < kMostAttempts) {
    if (give_back(bytes, kept)) return true;
    if (call_back(bytes)) {
      // It may have freed more than fits as it is.
      gave_all_ = false;
      return true;
    }
  }
  if (calls_.counts) heap_limit.refusals_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Relief::call_back(std::size_t bytes) {
  if (in_callback || calls_.left == 0) return false;
  --calls_.left;
  corbel_limit_callback callback;
  void* context;
  {
    sync::LockGuard guard(heap_limit.lock_);
    callback = heap_limit.callback_;
    context = heap_limit.context_;
  }
  if (callback == nullptr) return false;
  const int saved = errno;
  in_callback = true;
  const bool again = call_program(callback, context, bytes);
  in_callback = false;
  errno = saved;
  if (!again) calls_.left = 0;
  return again;
}

}  // namespace corbel::alloc
