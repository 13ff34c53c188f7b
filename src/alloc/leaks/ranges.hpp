// SPDX-License-Identifier: Apache-2.0
// A set of address ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloc/leaks/scratch.hpp"

namespace corbel::alloc {

class Ranges {
 public:
  // Makes room for `capacity` ranges. False if there is no memory.
  bool reserve(Scratch* scratch, std::size_t capacity) {
    ranges_ = scratch->array<Range>(capacity);
    capacity_ = capacity;
    return ranges_ != nullptr;
  }

  // False, and nothing is added, if there is no room left.
  bool add(std::uintptr_t start, std::uintptr_t end) {
    if (start >= end) return true;
    if (count_ == capacity_) return false;
    ranges_[count_++] = {start, end};
    return true;
  }

  // To be called after the last add(), before the functions below.
  void finish() {
    std::sort(ranges_, ranges_ + count_,
              [](const Range& a, const Range& b) { return a.start < b.start; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept != 0 && ranges_[i].start <= ranges_[kept - 1].end) {
        ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, ranges_[i].end);
      } else {
        ranges_[kept++] = ranges_[i];
      }
    }
    count_ = kept;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) visit(ranges_[i].start, ranges_[i].end);
  }

  bool has(std::uintptr_t address) const { return overlaps(address, address + 1); }

  bool overlaps(std::uintptr_t start, std::uintptr_t end) const {
    const Range* range = first_after(start);
    return range != ranges_ + count_ && range->start < end;
  }

  // Calls visit(start, end) for the parts of the given range that are in none of these.
  template <class Visit>
  void for_each_gap(std::uintptr_t start, std::uintptr_t end, Visit visit) const {
    for (const Range* range = first_after(start); start < end; ++range) {
      if (range == ranges_ + count_ || range->start >= end) {
        visit(start, end);
        return;
      }
      if (start < range->start) visit(start, range->start);
      start = range->end;
    }
  }

 private:
  struct Range {
    std::uintptr_t start, end;
  };

  // The first range that ends after the address.
  const Range* first_after(std::uintptr_t address) const {
    return std::upper_bound(ranges_, ranges_ + count_, address,
                            [](std::uintptr_t a, const Range& range) { return a < range.end; });
  }

  Range* ranges_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace corbel::alloc
