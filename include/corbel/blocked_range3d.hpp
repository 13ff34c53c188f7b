// SPDX-License-Identifier: Apache-2.0
// A three-dimensional range that can be split along each side. C++11 and later. Follows the oneTBB
// specification 1.4 ([algorithms.blocked_range3d]).
#ifndef CORBEL_BLOCKED_RANGE3D_HPP
#define CORBEL_BLOCKED_RANGE3D_HPP

#include <cstddef>

#include <corbel/blocked_range.hpp>

namespace corbel {

// All triples of a value of pages(), a value of rows() and a value of cols(). Exceptions and thread
// safety are those of blocked_range.
template <typename PageValue, typename RowValue = PageValue, typename ColValue = RowValue>
class blocked_range3d {
 public:
  using page_range_type = blocked_range<PageValue>;
  using row_range_type = blocked_range<RowValue>;
  using col_range_type = blocked_range<ColValue>;
  using size_type = std::size_t;

  // See blocked_range.
  static constexpr bool is_splittable_in_proportion = true;

  // All grain sizes are 1. The requirements for the arguments are those of blocked_range.
  blocked_range3d(PageValue page_begin, PageValue page_end, RowValue row_begin, RowValue row_end,
                  ColValue col_begin, ColValue col_end)
      : pages_(page_begin, page_end), rows_(row_begin, row_end), cols_(col_begin, col_end) {}

  // Each side has its own grain size.
  blocked_range3d(PageValue page_begin, PageValue page_end,
                  typename page_range_type::size_type page_grainsize, RowValue row_begin,
                  RowValue row_end, typename row_range_type::size_type row_grainsize,
                  ColValue col_begin, ColValue col_end,
                  typename col_range_type::size_type col_grainsize)
      : pages_(page_begin, page_end, page_grainsize),
        rows_(row_begin, row_end, row_grainsize),
        cols_(col_begin, col_end, col_grainsize) {}

  // Takes half of `whole`, which keeps the other half. The range is split along the side that is
  // longest in units of its grain size. `whole` must be divisible.
  blocked_range3d(blocked_range3d& whole, split how) : blocked_range3d(whole) {
    take_part_of(whole, how);
  }

  // Splits along the same side by the given proportion.
  blocked_range3d(blocked_range3d& whole, const proportional_split& how) : blocked_range3d(whole) {
    take_part_of(whole, how);
  }

  blocked_range3d(const blocked_range3d&) = default;
  blocked_range3d& operator=(const blocked_range3d&) = default;

  // The three sides.
  const page_range_type& pages() const { return pages_; }
  const row_range_type& rows() const { return rows_; }
  const col_range_type& cols() const { return cols_; }

  // Whether there are no triples.
  bool empty() const { return pages_.empty() || rows_.empty() || cols_.empty(); }
  // Whether one of the sides is divisible.
  bool is_divisible() const {
    return pages_.is_divisible() || rows_.is_divisible() || cols_.is_divisible();
  }

 private:
  template <typename How>
  void take_part_of(blocked_range3d& whole, const How& how) {
    const double pages = detail::length_in_grains(pages_);
    const double rows = detail::length_in_grains(rows_);
    const double cols = detail::length_in_grains(cols_);
    if (pages >= rows && pages >= cols) {
      pages_ = page_range_type(whole.pages_, how);
    } else if (rows >= cols) {
      rows_ = row_range_type(whole.rows_, how);
    } else {
      cols_ = col_range_type(whole.cols_, how);
    }
  }

  page_range_type pages_;
  row_range_type rows_;
  col_range_type cols_;
};

template <typename PageValue, typename RowValue, typename ColValue>
constexpr bool blocked_range3d<PageValue, RowValue, ColValue>::is_splittable_in_proportion;

#if defined(__cpp_deduction_guides)
template <typename PageValue, typename RowValue, typename ColValue>
blocked_range3d(PageValue, PageValue, RowValue, RowValue, ColValue, ColValue)
    -> blocked_range3d<PageValue, RowValue, ColValue>;
template <typename PageValue, typename RowValue, typename ColValue>
blocked_range3d(PageValue, PageValue, std::size_t, RowValue, RowValue, std::size_t, ColValue,
                ColValue, std::size_t) -> blocked_range3d<PageValue, RowValue, ColValue>;
#endif

}  // namespace corbel

#endif  // CORBEL_BLOCKED_RANGE3D_HPP
