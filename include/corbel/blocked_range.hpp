// SPDX-License-Identifier: Apache-2.0
// A half-open range of numbers or iterators that can be split until its parts are small enough.
// C++11 and later. Follows the oneTBB specification 1.4 ([algorithms.blocked_range]).
#ifndef CORBEL_BLOCKED_RANGE_HPP
#define CORBEL_BLOCKED_RANGE_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// The distance between two values. For integers it is taken in the unsigned type: the distance from
// the smallest int to the largest does not fit into an int.
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

// The number of elements in the right part: size * right / (left + right), rounded, but at least 1
// and less than `size`, because each part must have work. `size` is at least 2.
inline std::size_t right_share(std::size_t size, const proportional_split& proportion) {
  std::size_t left = proportion.left();
  std::size_t right = proportion.right();
  // If the sum fits into half a word, no product below overflows.
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
// access iterator, or a type that can be copied and compared by <, whose difference converts to
// size_type and to which a size_type can be added. Functions throw only what the operations of
// Value throw. Const functions may be called by several threads at the same time.
template <typename Value>
class blocked_range {
 public:
  using const_iterator = Value;
  using value_type = Value;
  using size_type = std::size_t;

  // Classic TBB checks this constant before it uses the proportional constructor.
  static constexpr bool is_splittable_in_proportion = true;

  // Makes an empty range; assign to it before use.
  blocked_range() : end_(), begin_(), grainsize_(1) {}

  // Makes the range [begin, end), which is not divisible if it has `grainsize` values or fewer.
  // `end` must not be less than `begin`, `grainsize` must be positive (checked with
  // CORBEL_USE_ASSERT).
  blocked_range(Value begin, Value end, size_type grainsize = 1)
      : end_(end), begin_(begin), grainsize_(grainsize) {
    CORBEL_ASSERT(grainsize_ > 0, "a grainsize must be positive");
  }

  // Takes the upper half of `whole`, which keeps the lower half. `whole` must be divisible.
  blocked_range(blocked_range& whole, split)
      : end_(whole.end_), begin_(whole.cut(whole.half())), grainsize_(whole.grainsize_) {
    CORBEL_ASSERT(!(begin_ < whole.end_) && !(end_ < begin_), "arithmetic of Value");
  }

  // Splits by the given proportion; each part gets at least one value. `whole` must be divisible.
  blocked_range(blocked_range& whole, const proportional_split& proportion)
      : end_(whole.end_),
        begin_(whole.cut(whole.left_share(proportion))),
        grainsize_(whole.grainsize_) {
    CORBEL_ASSERT(!(begin_ < whole.end_) && !(end_ < begin_), "arithmetic of Value");
  }

  // The first value, and the one after the last.
  const_iterator begin() const { return begin_; }
  const_iterator end() const { return end_; }

  // The number of values. end() must not be less than begin().
  size_type size() const {
    CORBEL_ASSERT(!(end_ < begin_), "a range ends before it begins");
    return detail::range_distance<Value>::between(begin_, end_);
  }
  // The maximum size of a range that is not divisible.
  size_type grainsize() const { return grainsize_; }

  // Whether there are no values.
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
  // Keeps the first `count` values and returns the beginning of the others.
  Value cut(size_type count) {
    end_ = static_cast<Value>(begin_ + count);
    return end_;
  }

  // Initialized in this order: the splitting constructors must read the end of `whole` before they
  // cut it.
  Value end_;
  Value begin_;
  size_type grainsize_;
};

template <typename Value>
constexpr bool blocked_range<Value>::is_splittable_in_proportion;

namespace detail {

// The length of one side of a multidimensional range in units of its grain size. The side with the
// greatest length is divisible if any side is.
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
