// SPDX-License-Identifier: Apache-2.0
// How a loop is cut into the pieces that its body is called with. C++11 upwards; the partitioners
// of the oneTBB specification.
#ifndef CORBEL_PARTITIONER_HPP
#define CORBEL_PARTITIONER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

namespace corbel {
namespace detail {

// Which place of the arena ran which part of a loop. The loop is thought of as so many cells of
// equal length.
class affinity_map {
 public:
  using slot = std::uint16_t;
  static constexpr slot nobody() { return 0xffff; }

  // For a loop in an arena of that width; forgets everything when the width is another than before.
  // Throws bad_alloc.
  void prepare(unsigned width) {
    std::size_t cells = kCellsPerThread;
    while (cells < kCellsPerThread * width) cells *= 2;
    if (cells == cells_) return;
    slots_.reset(new slot[cells]);
    cells_ = cells;
    for (std::size_t i = 0; i < cells; ++i) slots_[i] = nobody();
  }

  std::size_t cells() const { return cells_; }
  slot* slots() const { return slots_.get(); }

 private:
  // Enough for threads that end at different times to share the rest evenly.
  static constexpr std::size_t kCellsPerThread = 32;

  std::unique_ptr<slot[]> slots_;
  std::size_t cells_ = 0;
};

struct affinity_access;

}  // namespace detail

// Every piece is as small as the range allows: it is split until it is not divisible. For a
// blocked_range of grainsize g, pieces have between g/2 (rounded up) and g values.
class simple_partitioner {
 public:
  simple_partitioner() {}
};

// Pieces shrink as the loop nears its end: many values a call at first, few at last, so that the
// threads end together. No piece is smaller than the range allows. This is the default.
class auto_partitioner {
 public:
  auto_partitioner() {}
};

// As many equal pieces as the arena has threads (fewer if the range does not allow it), the same
// ones to the same threads every time if these are there. Nothing is balanced.
class static_partitioner {
 public:
  static_partitioner() {}
};

// Remembers which thread ran which part and lets it run the same part the next time, when its
// caches may still hold what the part works on; threads that run out of work take from the others.
// The object must be the same for those loops, which must not run at the same time, and outlive
// them.
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

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_PARTITIONER_HPP
