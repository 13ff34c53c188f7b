// SPDX-License-Identifier: Apache-2.0
// The ranges of the concurrent unordered containers for parallel algorithms. Not for programs to
// include.
#ifndef CORBEL_DETAIL_UNORDERED_RANGE_HPP
#define CORBEL_DETAIL_UNORDERED_RANGE_HPP

#include <cstddef>
#include <iterator>

#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/split_order.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// A part of a container's elements: those from one iterator to another, with the buckets that they
// lie in, by which the part is halved. A divisible range has elements on both sides of its middle.
// Elements that are added while the range is in use may or may not be in it.
//
// Buckets are counted in the order of the list. `Container` provides element_at(position, log), the
// node of the first element in or after that one of 2^log buckets, and position_of(node, log), the
// bucket of the element.
template <typename Container, typename Iterator>
class unordered_range {
 public:
  using value_type = typename std::iterator_traits<Iterator>::value_type;
  using reference = typename std::iterator_traits<Iterator>::reference;
  using const_reference = const value_type&;
  using size_type = std::size_t;
  using difference_type = typename std::iterator_traits<Iterator>::difference_type;
  using iterator = Iterator;

  // All elements.
  explicit unordered_range(const Container& container)
      : container_(&container),
        log_(highest_bit(container.unsafe_bucket_count())),
        last_bucket_(container.unsafe_bucket_count()),
        begin_(container.element_at(0, log_)) {
    find_middle();
  }

  // Takes the second half of a divisible range.
  unordered_range(unordered_range& whole, split)
      : container_(whole.container_),
        log_(whole.log_),
        bucket_(whole.middle_bucket_),
        last_bucket_(whole.last_bucket_),
        begin_(whole.middle_),
        end_(whole.end_) {
    whole.end_ = begin_;
    whole.last_bucket_ = bucket_;
    whole.find_middle();
    find_middle();
  }

  bool empty() const { return begin_ == end_; }
  bool is_divisible() const { return middle_ != end_; }
  size_type grainsize() const { return 1; }

  iterator begin() const { return begin_; }
  iterator end() const { return end_; }

 private:
  // Leaves the middle at the end if the elements cannot be divided. The first element is in the
  // first bucket, so what begins a later one comes after it, also if it is new. And it does not
  // come after end_, which is not in an earlier bucket than the last.
  void find_middle() {
    middle_ = end_;
    if (empty()) return;
    bucket_ = container_->position_of(*begin_.node(), log_);
    while (last_bucket_ - bucket_ > 1) {
      middle_bucket_ = bucket_ + (last_bucket_ - bucket_) / 2;
      middle_ = iterator(container_->element_at(middle_bucket_, log_));
      if (middle_ != end_) return;
      last_bucket_ = middle_bucket_;
    }
  }

  const Container* container_;
  int log_;
  size_type bucket_ = 0;
  size_type middle_bucket_ = 0;
  size_type last_bucket_;
  iterator begin_;
  iterator end_;
  iterator middle_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_UNORDERED_RANGE_HPP
