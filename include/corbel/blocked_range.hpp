// SPDX-License-Identifier: Apache-2.0
// A half-open range of numbers or iterators that can be split until its parts are small enough.
// C++11 upwards; blocked_range of the oneTBB specification.
#ifndef CORBEL_BLOCKED_RANGE_HPP
#define CORBEL_BLOCKED_RANGE_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// The distance between two values. That of integers is taken in the unsigned type: the one from
// the smallest int to the largest is no int.
template <typename Value, bool = std::is_integral<Value>::value>
struct range_distance {
  static std::size_t between(const Value& begin, const Value& end) {
    return static_cast<std::size_t>(end - begin);
  }
};
template <typename Value>
struct range_distance<Value, true> {
  static std::size_t between(Value begin, Value end) {
    return static_cast<std::size_t>(end) - static_cast<std::size_t>(begin);
  }
};

// So many of `size` elements belong to the right part: `size * right / (left + right)`, rounded,
// but never none nor all, since each part must have work. `size` is at least 2.
inline std::size_t right_share(std::size_t size, const proportional_split& proportion) {
  std::size_t left = proportion.left();
  std::size_t right = proportion.right();
  // With a sum that fits into half a word no product below overflows.
  constexpr int kHalf = static_cast<int>(sizeof(std::size_t)) * 4;
  while ((left >> (kHalf - 1)) != 0 || (right >> (kHalf - 1)) != 0) {
    left /= 2;
    right /= 2;
  }
  const std::size_t total = left + right;
  if (total == 0) return size / 2;
  const std::size_t share = size / total * right + (size % total * right + total / 2) / total;
  return share == 0 ? 1 : share >= size ? size - 1 : share;
}

}  // namespace detail

// The values from begin() up to, not including, end(). Value is an integer, a pointer, a random
// access iterator, or anything that can be copied, compared by <, subtracted from its like to give
// something that converts to size_type, and added a size_type to. Not to be changed by two threads
// at a time.
template <typename Value>
class blocked_range {
 public:
  using const_iterator = Value;
  using value_type = Value;
  using size_type = std::size_t;

  // Classic TBB asked for this constant before it used the proportional constructor.
  static constexpr bool is_splittable_in_proportion = true;

  // An empty range; only to be assigned to.
  blocked_range() : end_(), begin_(), grainsize_(1) {}

  // The range [begin, end), not to be split where it has `grainsize` values or fewer. `end` must
  // not be smaller than `begin`, `grainsize` must be positive.
  blocked_range(Value begin, Value end, size_type grainsize = 1)
      : end_(end), begin_(begin), grainsize_(grainsize) {
    CORBEL_ASSERT(grainsize_ > 0, "a grainsize must be positive");
  }

  // The upper half of `whole`, which keeps the lower one. `whole` must be divisible.
  blocked_range(blocked_range& whole, split)
      : end_(whole.end_), begin_(whole.cut(whole.half())), grainsize_(whole.grainsize_) {
    CORBEL_ASSERT(!(begin_ < whole.end_) && !(end_ < begin_), "arithmetic of Value");
  }

  // As above, but by the given proportion; each part gets at least one value.
  blocked_range(blocked_range& whole, const proportional_split& proportion)
      : end_(whole.end_),
        begin_(whole.cut(whole.left_share(proportion))),
        grainsize_(whole.grainsize_) {
    CORBEL_ASSERT(!(begin_ < whole.end_) && !(end_ < begin_), "arithmetic of Value");
  }

  const_iterator begin() const { return begin_; }
  const_iterator end() const { return end_; }

  // The number of values. end() must not be smaller than begin().
  size_type size() const {
    CORBEL_ASSERT(!(end_ < begin_), "a range ends before it begins");
    return detail::range_distance<Value>::between(begin_, end_);
  }
  size_type grainsize() const { return grainsize_; }

  bool empty() const { return !(begin_ < end_); }
  // Whether the splitting constructors may be called: there are more values than the grainsize.
  bool is_divisible() const { return grainsize_ < size(); }

 private:
  size_type half() const {
    CORBEL_ASSERT(is_divisible(), "a range that is not divisible is split");
    return size() / 2;
  }
  size_type left_share(const proportional_split& proportion) const {
    CORBEL_ASSERT(is_divisible(), "a range that is not divisible is split");
    return size() - detail::right_share(size(), proportion);
  }
  // Leaves `count` values here; where the others begin.
  Value cut(size_type count) {
    end_ = static_cast<Value>(begin_ + count);
    return end_;
  }

  // In this order because the constructors read the other's end before they cut it.
  Value end_;
  Value begin_;
  size_type grainsize_;
};

template <typename Value>
constexpr bool blocked_range<Value>::is_splittable_in_proportion;

namespace detail {

// How long a side of a range of several dimensions is, in units of its grainsize: the longest is
// divisible if any is.
template <typename Value>
inline double length_in_grains(const blocked_range<Value>& side) {
  return static_cast<double>(side.size()) / static_cast<double>(side.grainsize());
}

}  // namespace detail

#if defined(__cpp_deduction_guides)
template <typename Value>
blocked_range(Value, Value, std::size_t = 1) -> blocked_range<Value>;
#endif

}  // namespace corbel

#endif  // CORBEL_BLOCKED_RANGE_HPP
