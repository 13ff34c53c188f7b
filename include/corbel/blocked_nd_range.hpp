// SPDX-License-Identifier: Apache-2.0
// A range of any number of dimensions that can be split along each of them. C++11 and later.
// Follows the oneTBB specification 1.4 ([algorithms.blocked_nd_range]).
#ifndef CORBEL_BLOCKED_ND_RANGE_HPP
#define CORBEL_BLOCKED_ND_RANGE_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/blocked_range.hpp>
#include <corbel/detail/index_sequence.hpp>

namespace corbel {
namespace detail {

// T, once for each dimension.
template <typename T, std::size_t>
struct for_dimension {
  using type = T;
};

// The base of blocked_nd_range. The constructors need the numbers of the dimensions as a pack.
template <typename Value, unsigned int N, typename Dimensions>
class nd_range;
template <typename Value, unsigned int N, std::size_t... Is>
class nd_range<Value, N, index_sequence<Is...>> {
 public:
  using value_type = Value;
  using dim_range_type = blocked_range<Value>;
  using size_type = typename dim_range_type::size_type;

  // See blocked_range.
  static constexpr bool is_splittable_in_proportion = true;

  // The number of dimensions, N, under both names it has had.
  static constexpr unsigned int dim_count() { return N; }
  static constexpr unsigned int ndims() { return N; }

  // One range for each dimension; they may be written as {begin, end} or {begin, end, grainsize}.
  nd_range(const typename for_dimension<dim_range_type, Is>::type&... dims) : dims_{dims...} {}

  // From 0 to sizes[i] in dimension i, all with the same grainsize.
  nd_range(const value_type (&sizes)[N], size_type grainsize = 1)
      : dims_{dim_range_type(value_type(0), sizes[Is], grainsize)...} {}

  // Takes half of `whole`, which keeps the other half. The range is split along the dimension that
  // is longest in units of its grain size, the first of them if there are several. `whole` must be
  // divisible.
  nd_range(nd_range& whole, split how) : nd_range(whole) { take_part_of(whole, how); }

  // Splits along the same dimension by the given proportion.
  nd_range(nd_range& whole, const proportional_split& how) : nd_range(whole) {
    take_part_of(whole, how);
  }

  nd_range(const nd_range&) = default;
  nd_range& operator=(const nd_range&) = default;

  // The range of a dimension, which must be less than N.
  const dim_range_type& dim(unsigned int dimension) const {
    CORBEL_ASSERT(dimension < N, "there is no such dimension");
    return dims_[dimension];
  }

  // Whether any dimension is empty.
  bool empty() const {
    for (const dim_range_type& range : dims_) {
      if (range.empty()) return true;
    }
    return false;
  }
  // Whether any dimension is divisible.
  bool is_divisible() const {
    for (const dim_range_type& range : dims_) {
      if (range.is_divisible()) return true;
    }
    return false;
  }

 private:
  template <typename How>
  void take_part_of(nd_range& whole, const How& how) {
    unsigned int longest = 0;
    for (unsigned int i = 1; i < N; ++i) {
      if (length_in_grains(dims_[longest]) < length_in_grains(dims_[i])) longest = i;
    }
    dims_[longest] = dim_range_type(whole.dims_[longest], how);
  }

  dim_range_type dims_[N];
};

template <typename Value, unsigned int N, std::size_t... Is>
constexpr bool nd_range<Value, N, index_sequence<Is...>>::is_splittable_in_proportion;

}  // namespace detail

// All combinations of one value from each of N ranges. Its members are those of the base class
// above. Exceptions and thread safety are those of blocked_range.
template <typename Value, unsigned int N>
class blocked_nd_range : public detail::nd_range<Value, N, detail::make_index_sequence<N>> {
  static_assert(N > 0, "a range has at least one dimension");
  using Base = detail::nd_range<Value, N, detail::make_index_sequence<N>>;

 public:
  using Base::Base;
  // Not inherited, because their first parameter would be the base class.
  blocked_nd_range(blocked_nd_range& whole, split how) : Base(whole, how) {}
  blocked_nd_range(blocked_nd_range& whole, const proportional_split& how) : Base(whole, how) {}
  blocked_nd_range(const blocked_nd_range&) = default;
  blocked_nd_range& operator=(const blocked_nd_range&) = default;
};

#if defined(__cpp_deduction_guides)
// One range for each dimension.
template <typename Value, typename... Values,
          typename = typename std::enable_if<(std::is_same<Value, Values>::value && ...)>::type>
blocked_nd_range(blocked_range<Value>, blocked_range<Values>...)
    -> blocked_nd_range<Value, 1 + sizeof...(Values)>;
// {begin, end} or {begin, end, grainsize} for each of two dimensions or more.
template <typename Value, unsigned int... Sizes,
          typename = typename std::enable_if<(sizeof...(Sizes) >= 2) &&
                                             ((Sizes == 2 || Sizes == 3) && ...)>::type>
blocked_nd_range(const Value (&... dims)[Sizes]) -> blocked_nd_range<Value, sizeof...(Sizes)>;
// One size for each dimension.
template <typename Value, unsigned int N>
blocked_nd_range(const Value (&)[N], std::size_t = 1) -> blocked_nd_range<Value, N>;
template <typename Value, unsigned int N>
blocked_nd_range(blocked_nd_range<Value, N>, split) -> blocked_nd_range<Value, N>;
template <typename Value, unsigned int N>
blocked_nd_range(blocked_nd_range<Value, N>, proportional_split) -> blocked_nd_range<Value, N>;
#endif

}  // namespace corbel

#endif  // CORBEL_BLOCKED_ND_RANGE_HPP
