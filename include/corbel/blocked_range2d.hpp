// SPDX-License-Identifier: Apache-2.0
// A two-dimensional range that can be split along either side. C++11 and later. Follows the oneTBB
// specification 1.4 ([algorithms.blocked_range2d]).
#ifndef CORBEL_BLOCKED_RANGE2D_HPP
#define CORBEL_BLOCKED_RANGE2D_HPP

#include <cstddef>

#include <corbel/blocked_range.hpp>

namespace corbel {

// All pairs of a value of rows() and a value of cols(). Exceptions and thread safety are those of
// blocked_range.
template <typename RowValue, typename ColValue = RowValue>
class blocked_range2d {
 public:
  using row_range_type = blocked_range<RowValue>;
  using col_range_type = blocked_range<ColValue>;
  using size_type = std::size_t;

  // See blocked_range.
  static constexpr bool is_splittable_in_proportion = true;

  // Makes the range of all pairs of the two sides. The requirements for the arguments are those of
  // blocked_range.
  blocked_range2d(RowValue row_begin, RowValue row_end,
                  typename row_range_type::size_type row_grainsize, ColValue col_begin,
                  ColValue col_end, typename col_range_type::size_type col_grainsize)
      : rows_(row_begin, row_end, row_grainsize), cols_(col_begin, col_end, col_grainsize) {}

  // Makes the range as above; both grain sizes are 1.
  blocked_range2d(RowValue row_begin, RowValue row_end, ColValue col_begin, ColValue col_end)
      : rows_(row_begin, row_end), cols_(col_begin, col_end) {}

  // Takes half of `whole`, which keeps the other half. The range is split along the side that is
  // longer in units of its grain size. `whole` must be divisible.
  blocked_range2d(blocked_range2d& whole, split how) : blocked_range2d(whole) {
    take_part_of(whole, how);
  }

  // Splits along the same side by the given proportion.
  blocked_range2d(blocked_range2d& whole, const proportional_split& how) : blocked_range2d(whole) {
    take_part_of(whole, how);
  }

  blocked_range2d(const blocked_range2d&) = default;
  blocked_range2d& operator=(const blocked_range2d&) = default;

  // The two sides.
  const row_range_type& rows() const { return rows_; }
  const col_range_type& cols() const { return cols_; }

  // Whether there are no pairs.
  bool empty() const { return rows_.empty() || cols_.empty(); }
  // Whether one of the sides is divisible.
  bool is_divisible() const { return rows_.is_divisible() || cols_.is_divisible(); }

 private:
  template <typename How>
  void take_part_of(blocked_range2d& whole, const How& how) {
    if (detail::length_in_grains(rows_) < detail::length_in_grains(cols_)) {
      cols_ = col_range_type(whole.cols_, how);
    } else {
      rows_ = row_range_type(whole.rows_, how);
    }
  }

  row_range_type rows_;
  col_range_type cols_;
};

template <typename RowValue, typename ColValue>
constexpr bool blocked_range2d<RowValue, ColValue>::is_splittable_in_proportion;

#if defined(__cpp_deduction_guides)
template <typename RowValue, typename ColValue>
blocked_range2d(RowValue, RowValue, std::size_t, ColValue, ColValue, std::size_t)
    -> blocked_range2d<RowValue, ColValue>;
template <typename RowValue, typename ColValue>
blocked_range2d(RowValue, RowValue, ColValue, ColValue) -> blocked_range2d<RowValue, ColValue>;
#endif

}  // namespace corbel

#endif  // CORBEL_BLOCKED_RANGE2D_HPP
