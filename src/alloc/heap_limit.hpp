// SPDX-License-Identifier: Apache-2.0
// The soft and the hard limit of the footprint.
//
// Whoever cannot commit what it needs (footprint.hpp) fails with the number of bytes, goes back to
// a point where it holds no lock and nothing half done, and asks here. Above the soft limit memory
// is given back, cheapest first (make_room() in reclaim.hpp), and where that is not enough the heap
// grows all the same. Above the hard limit everything is tried, then the program's callback, then
// the request is refused.
//
// Searching for room is repeated at a higher level only: after a search in vain the ceiling lies a
// 64th above what is needed now, until the footprint falls to the limit again. So a program whose
// live memory is above its limit pays for one search each time it has grown by that, and holds no
// more than that for nothing.
#pragma once

#include <corbel/malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap.hpp"
#include "alloc/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

struct LimitFigures {
  std::size_t soft;           // 0: none
  std::size_t hard;           // 0: none
  std::size_t peak;           // of the footprint
  std::size_t reclaims;       // searches for room
  std::size_t episodes;       // times the footprint rose above the soft limit
  std::size_t exceeded_most;  // by how much at most
  std::size_t refusals;       // requests that the hard limit refused
};

class HeapLimit {
 public:
  constexpr HeapLimit() = default;

  // 0 removes a limit. May be called with locks of lower rank held: gives nothing back yet.
  void set(std::size_t soft, std::size_t hard);

  // Gives back what is above the limits, as far as that is possible. The caller holds no lock.
  void enforce(Heap* heap);

  // What to call before a request is refused; see corbel_on_limit.
  void set_callback(corbel_limit_callback callback, void* context);

  // relaxed all: limits may change at any time, and whoever sees the old value was just faster
  std::size_t soft() const { return soft_.load(std::memory_order_relaxed); }
  std::size_t hard() const { return hard_.load(std::memory_order_relaxed); }
  bool is_over_soft() const;

  // After a release that began above the soft limit.
  void fell(std::size_t before, std::size_t after);

  LimitFigures figures();

  sync::Lock& lock() { return lock_; }

 private:
  friend class Relief;

  static constexpr std::size_t kNone = 0;

  // Makes room under the soft limit, or lifts the ceiling.
  void pass_soft(Heap* heap, std::size_t bytes, unsigned attempt, const Span* kept);
  bool fits_hard(std::size_t bytes) const;
  void lift_ceiling(std::size_t bytes, unsigned attempt);
  void publish();

  sync::Lock lock_{lock_rank::kLimit};

  // Written under lock_; see soft().
  std::atomic<std::size_t> soft_{kNone};
  std::atomic<std::size_t> hard_{kNone};

  // These under lock_.
  std::size_t level_ = SIZE_MAX;  // the ceiling as far as the soft limit goes
  corbel_limit_callback callback_ = nullptr;
  void* context_ = nullptr;
  std::size_t episodes_ = 0;
  std::size_t exceeded_most_ = 0;

  // relaxed both: statistics
  std::atomic<std::size_t> reclaims_{0};
  std::atomic<std::size_t> refusals_{0};
};

extern HeapLimit heap_limit;

// Ends the process if the callback throws.
bool call_program(corbel_limit_callback callback, void* context, std::size_t size);

// The calls of the program's callback for one request, by however many ways the request is tried.
struct LimitCalls {
  static constexpr unsigned kMost = 8;

  unsigned left = kMost;  // 0 also when it has said no
  bool counts = true;     // among the refusals, if it comes to that
};

// For a request that may be refused without the program's noticing.
inline constexpr LimitCalls kNoLimitCalls{.left = 0, .counts = false};

// What one way to serve a request may try before it is refused.
class Relief {
 public:
  // `heap` is the calling thread's, or nullptr. `calls` outlives this.
  Relief(Heap* heap, LimitCalls& calls) : heap_(heap), slow_path_(heap), calls_(calls) {}

  // After an attempt that failed for want of `shortage` bytes, or, if 0, because the system has no
  // more. True if another attempt is worth while. `kept` as in SpanRequest. The caller holds no
  // lock, and its heap may change.
  bool find(std::size_t shortage, const Span* kept = nullptr);

 private:
  bool pass_hard(std::size_t bytes, const Span* kept);
  bool give_back(std::size_t bytes, const Span* kept);
  bool call_back(std::size_t bytes);

  Heap* heap_;
  SlowPath slow_path_;
  LimitCalls& calls_;
  unsigned attempts_ = 0;
  bool asked_system_ = false;
  bool gave_all_ = false;
};

}  // namespace corbel::alloc
