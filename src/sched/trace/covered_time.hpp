// SPDX-License-Identifier: Apache-2.0
// The time that intervals cover together: where they overlap, it counts once. So calls of several
// threads at a time are not added up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace corbel::sched::trace {

class CoveredTime {
 public:
  // Returns how much longer the covered time is than before. If there is no memory, an interval
  // counts as if no other overlapped it.
  std::uint64_t add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return 0;
    const std::uint64_t before = total_;
    total_ += end - begin;
    auto first = std::lower_bound(parts_.begin(), parts_.end(), begin,
                                  [](const Part& p, std::uint64_t at) { return p.end < at; });
    auto last = first;
    for (; last != parts_.end() && last->begin <= end; ++last) {
      total_ -= std::min(end, last->end) - std::max(begin, last->begin);
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    if (first != last) {
      *first = {begin, end};
      parts_.erase(first + 1, last);
      return total_ - before;
    }
    try {
      parts_.insert(first, {begin, end});
      if (parts_.size() > kMaxParts) close_gaps();
    } catch (const std::bad_alloc&) {
    }
    return total_ - before;
  }

  // No interval that begins before `time` will be added.
  void forget_before(std::uint64_t time) {
    auto first = parts_.begin();
    while (first != parts_.end() && first->end < time) ++first;
    parts_.erase(parts_.begin(), first);
  }

  std::uint64_t total() const { return total_; }

 private:
  struct Part {
    std::uint64_t begin, end;
  };

  // Bounds the memory: what comes in the oldest gaps does not count any more.
  void close_gaps() {
    parts_.front().end = parts_[parts_.size() / 2].end;
    parts_.erase(parts_.begin() + 1, parts_.begin() + std::ptrdiff_t(parts_.size() / 2) + 1);
  }

  static constexpr std::size_t kMaxParts = 1 << 16;

  std::vector<Part> parts_;  // disjoint, in order
  std::uint64_t total_ = 0;
};

}  // namespace corbel::sched::trace
