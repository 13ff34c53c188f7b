// SPDX-License-Identifier: Apache-2.0
// The partitioners: how a loop is cut into the chunks that its body is called with. C++11 and
// later. Follows the oneTBB specification 1.4 ([algorithms.partitioners]).
//
// simple_partitioner, auto_partitioner and static_partitioner have no state: any number of loops
// may share one object.
#ifndef CORBEL_PARTITIONER_HPP
#define CORBEL_PARTITIONER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace corbel {
namespace detail {

// Which slot of the arena ran which part of a loop. The loop is divided into cells of equal length.
class affinity_map {
 public:
  using slot = std::uint16_t;
  // The value of a cell that no slot has run yet.
  static constexpr slot no_slot() { return 0xffff; }

  // Prepares for a loop in an arena with `width` slots and returns the number of cells. Forgets
  // everything if that number changes. Throws bad_alloc; the map is unchanged then.
  std::size_t prepare(unsigned width) {
    std::size_t cells = kCellsPerThread;
    while (cells < kCellsPerThread * width) cells *= 2;
    if (cells == cells_) return cells;
    slots_.reset(new slot[cells]);
    cells_ = cells;
    for (std::size_t i = 0; i < cells; ++i) slots_[i] = no_slot();
    return cells;
  }

  std::size_t cells() const { return cells_; }
  slot* slots() const { return slots_.get(); }

 private:
  // Enough for threads that finish at different times to share the rest evenly.
  static constexpr std::size_t kCellsPerThread = 32;

  std::unique_ptr<slot[]> slots_;
  std::size_t cells_ = 0;
};

struct affinity_access;

}  // namespace detail

// Every chunk is as small as the range allows: the range is split until it is not divisible. For a
// blocked_range with grain size g, a chunk has between g/2 (rounded up) and g values.
class simple_partitioner {
 public:
  simple_partitioner() {}
};

// Chunks shrink towards the end of the loop: large at first, so that there are few calls, and small
// at last, so that the threads finish together. No chunk is smaller than the range allows. This is
// the default.
class auto_partitioner {
 public:
  auto_partitioner() {}
};

// Makes one chunk for each slot of the arena, all of equal size (fewer if the range does not allow
// that many). The same chunk goes to the same thread every time if that thread takes part. There is
// no load balancing.
class static_partitioner {
 public:
  static_partitioner() {}
};

// Remembers which thread ran which part and gives it the same part in the next loop, when its
// caches may still hold the data. Threads that run out of work steal from the others. Pass the same
// object to those loops. It must outlive them, and no two of them may run at the same time.
class affinity_partitioner : private detail::affinity_map {
 public:
  affinity_partitioner() {}
  affinity_partitioner(const affinity_partitioner&) = delete;
  affinity_partitioner& operator=(const affinity_partitioner&) = delete;

 private:
  friend struct detail::affinity_access;
};

namespace detail {

struct affinity_access {
  static affinity_map& map(affinity_partitioner& partitioner) { return partitioner; }
};

// The partitioner that an argument of type P converts to, by the rules of overload resolution: as
// if the algorithm had one overload for each partitioner. No type if there is none, or no best one.
// The partitioners without state are passed on by value, which costs nothing.
simple_partitioner choose_partitioner(const simple_partitioner&);
auto_partitioner choose_partitioner(const auto_partitioner&);
static_partitioner choose_partitioner(const static_partitioner&);
affinity_partitioner& choose_partitioner(affinity_partitioner&);
template <typename P>
using chosen_partitioner = decltype(detail::choose_partitioner(std::declval<P>()));

// The same choice for algorithms that always split in the same way.
simple_partitioner choose_fixed_partitioner(const simple_partitioner&);
static_partitioner choose_fixed_partitioner(const static_partitioner&);
template <typename P>
using chosen_fixed_partitioner = decltype(detail::choose_fixed_partitioner(std::declval<P>()));

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_PARTITIONER_HPP
