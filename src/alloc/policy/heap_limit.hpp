// SPDX-License-Identifier: Apache-2.0
// The soft and the hard limit of the footprint.
//
// Code that cannot commit the memory it needs (footprint.hpp) fails and reports how many bytes are
// missing. The request then unwinds to a point where it holds no lock and its data is consistent,
// and searches for room (RoomSearch). At the soft limit, the search gives memory back, cheapest
// first (make_room() in reclaim.hpp). If that is not enough, the heap grows all the same. At the
// hard limit, the search gives back all it can, then calls the program's callback, then refuses the
// request.
//
// A search at the soft limit that finds too little is not repeated at once: it lifts the ceiling to
// a 64th above the present need. The ceiling returns to the limit when the footprint falls below
// it. So a program whose live memory exceeds the soft limit pays for one search each time it grows
// by a 64th, and holds at most that fraction in memory that could be given back.
#pragma once

#include <corbel/malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

struct LimitFigures {
  std::size_t soft;        // 0: none
  std::size_t hard;        // 0: none
  std::size_t peak;        // of the footprint
  std::size_t reclaims;    // searches for room
  std::size_t episodes;    // times the footprint rose above the soft limit
  std::size_t max_excess;  // the most by which it rose above it
  std::size_t refusals;    // requests that the hard limit refused
};

class HeapLimit {
 public:
  constexpr HeapLimit() = default;

  // Sets the limits; 0 removes one. Does not give memory back, so the caller may hold locks of
  // lower rank.
  void set(std::size_t soft, std::size_t hard);

  // Gives back what is above the limits, as far as that is possible. The caller holds no lock.
  void enforce(Heap* heap);

  // Sets the function to call before a request is refused (corbel_on_limit).
  void set_callback(corbel_limit_callback callback, void* context);

  // relaxed all: a limit may change at any time; a thread that sees the old value behaves as if it
  // had come just before the change
  std::size_t soft() const { return soft_.load(std::memory_order_relaxed); }
  std::size_t hard() const { return hard_.load(std::memory_order_relaxed); }
  bool is_over_soft() const;

  // memory_fell(): called after a release that began above the soft limit.
  void fell(std::size_t before, std::size_t after);

  LimitFigures figures();
  LimitFigures figures_under_lock();  // requires: the caller holds the lock

  constexpr sync::Lock& lock() { return lock_; }

 private:
  friend class RoomSearch;

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

  // These are under lock_.
  std::size_t level_ = SIZE_MAX;  // the soft limit, or higher while the ceiling is lifted
  corbel_limit_callback callback_ = nullptr;
  void* context_ = nullptr;
  std::size_t episodes_ = 0;
  std::size_t max_excess_ = 0;

  // relaxed both: statistics
  std::atomic<std::size_t> reclaims_{0};
  std::atomic<std::size_t> refusals_{0};
};

extern HeapLimit heap_limit;

// Calls the callback and returns whether its result is not 0. Ends the process if the callback
// throws.
bool call_program(corbel_limit_callback callback, void* context, std::size_t size);

}  // namespace corbel::alloc
