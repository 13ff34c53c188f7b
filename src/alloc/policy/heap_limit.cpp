// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/heap_limit.hpp"

#include <errno.h>

#include <algorithm>

#include "alloc/heap/watch.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/policy/reclaim.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit HeapLimit heap_limit;

namespace {

constexpr std::size_t kMinStep = std::size_t(256) << 10;
// The attempts of one search at the hard limit. An attempt may fail although it found room, because
// other threads take the room first.
constexpr unsigned kMaxAttempts = 64;

// Set while this thread is in the program's callback: requests made there do not call it again.
CORBEL_THREAD_VARIABLE(bool, in_callback) = false;

// The target of a search that is to fit `bytes` more under a limit. It leaves a little slack, so
// that the next page does not need another search.
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
  // Lift it by more at each further attempt, because other threads may take the room first.
  level_ = wanted + (std::max(wanted / 64, kMinStep) << std::min(attempt, 8U));
  publish();
}

void HeapLimit::fell(std::size_t before, std::size_t after) {
  sync::LockGuard guard(lock_);
  const std::size_t limit = soft();
  if (limit == kNone || level_ <= limit) return;
  if (before > limit) max_excess_ = std::max(max_excess_, before - limit);
  if (after > limit) return;
  level_ = limit;
  publish();
}

void memory_fell(std::size_t before, std::size_t after) { heap_limit.fell(before, after); }

bool is_over_soft_limit() { return heap_limit.is_over_soft(); }

void HeapLimit::pass_soft(Heap* heap, std::size_t bytes, unsigned attempt, const Span* kept) {
  const std::size_t limit = soft();
  if (limit == kNone) return;
  reclaims_.fetch_add(1, std::memory_order_relaxed);
  // While the limit is exceeded, keep the footprint at the lifted ceiling instead of reclaiming
  // down to the limit: most of what is free now is used again soon, and what is not is purged when
  // it is due (SpanHeap::next_due).
  const std::size_t ceiling = std::max(limit, footprint.ceiling());
  make_room(heap, target_below(ceiling, bytes), kept);
  lift_ceiling(bytes, attempt);
}

LimitFigures HeapLimit::figures() {
  sync::LockGuard guard(lock_);
  return figures_under_lock();
}

LimitFigures HeapLimit::figures_under_lock() {
  const std::size_t now = footprint.bytes();
  const std::size_t limit = soft();
  if (limit != kNone && level_ > limit && now > limit) {
    max_excess_ = std::max(max_excess_, now - limit);
  }
  return {limit,
          hard(),
          footprint.peak(),
          reclaims_.load(std::memory_order_relaxed),
          episodes_,
          max_excess_,
          refusals_.load(std::memory_order_relaxed)};
}

// ---- one request ------------------------------------------------------------------------------

bool RoomSearch::find(std::size_t shortage, const Span* kept) {
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

// Gives memory back under the hard limit. Returns whether another attempt is worthwhile.
bool RoomSearch::give_back(std::size_t bytes, const Span* kept) {
  const std::size_t limit = heap_limit.hard();
  // A request larger than the limit has no room, however much is given back.
  if (limit != HeapLimit::kNone && bytes > limit) return false;
  heap_limit.reclaims_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t before = footprint.bytes();
  make_room(heap_, target_below(limit, bytes), kept);
  if (heap_limit.fits_hard(bytes)) return true;
  if (gave_all_) return false;
  // Give `kept` back too: it may have more pages than the request would use. Even if `bytes` still
  // does not fit, another attempt is worthwhile once anything was given back, because a slab in
  // memory that is now clean needs less room.
  gave_all_ = true;
  if (kept != nullptr) make_room(heap_, 0, nullptr);
  return footprint.bytes() < before;
}

bool RoomSearch::pass_hard(std::size_t bytes, const Span* kept) {
  if (attempts_ < kMaxAttempts) {
    if (give_back(bytes, kept)) return true;
    if (call_back(bytes)) {
      // The callback may have freed memory that reclaiming must still give back.
      gave_all_ = false;
      return true;
    }
  }
  if (calls_.counts) heap_limit.refusals_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool RoomSearch::call_back(std::size_t bytes) {
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
  const os::SavedErrno saved;
  in_callback = true;
  bool again;
  {
    const ProgramCode code;
    again = call_program(callback, context, bytes);
  }
  in_callback = false;
  saved.restore();
  if (!again) calls_.left = 0;
  return again;
}

}  // namespace corbel::alloc
