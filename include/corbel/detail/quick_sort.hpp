// SPDX-License-Identifier: Apache-2.0
// The steps of a quicksort that is fast for every input: partitioning a span by a pivot, and
// sorting a small span in one thread. Not for programs to include.
//
// Elements are only swapped, or moved through a hole that is filled when the comparison throws. At
// every point where the program's code may throw, the span holds the elements it held before.
//
// Sources: C. Hoare, "Quicksort" (1962); J. Bentley and D. McIlroy, "Engineering a Sort Function"
// (1993), the ninther; S. Edelkamp and A. Weiss, "BlockQuicksort: Avoiding Branch Mispredictions in
// Quicksort" (ESA 2016); O. Peters, "Pattern-defeating Quicksort" (2021), the treatment of equal
// elements and of patterns; J. Williams, "Algorithm 232: Heapsort" (1964).
#ifndef CORBEL_DETAIL_QUICK_SORT_HPP
#define CORBEL_DETAIL_QUICK_SORT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

template <typename Iterator, typename Compare>
class quick_sort {
 public:
  using difference = typename std::iterator_traits<Iterator>::difference_type;
  using value = typename std::iterator_traits<Iterator>::value_type;

  explicit quick_sort(const Compare& comp) : comp_(comp) {}

  // A part of the sequence that is sorted on its own.
  struct span {
    Iterator first, last;
    // Whether there is an element before the span. No element of the span is less than it.
    bool has_before;
    // How many more bad pivots are tolerated before the span is sorted by heapsort.
    int bad_left;

    difference length() const { return last - first; }
  };

  static span whole(Iterator first, Iterator last) {
    int logarithm = 0;
    for (difference n = last - first; n > 1; n /= 2) ++logarithm;
    return {first, last, false, logarithm};
  }

  // Sorts `s` in this thread.
  void sort(span s) const {
    while (s.length() > kSmall) {
      if (s.bad_left == 0) {
        sort_by_heap(s.first, s.last);
        return;
      }
      span right = divide(&s);
      if (right.length() < s.length()) std::swap(s, right);
      sort(s);
      s = right;
    }
    insert(s.first, s.last);
  }

  // Partitions by a pivot: elements that are less come before it, the others after it, and the
  // pivot is in its final place. `s` becomes the left part, or empty if that part is sorted
  // already; the right part is returned. There must be more than kSmall elements, and bad_left must
  // not be 0.
  span divide(span* s) const {
    choose_pivot(s->first, s->last);
    const Iterator first = s->first;
    const Iterator last = s->last;
    if (s->has_before && !less(*(first - 1), *first)) {
      // The pivot equals the element before the span, so no element is less than the pivot.
      const Iterator place = divide_equal(first, last);
      s->last = first;
      return {place + 1, last, true, s->bad_left};
    }
    const Iterator place = divide_less(first, last, kIsCheap());
    s->last = place;
    span right{place + 1, last, true, s->bad_left};
    const difference min_length = (last - first) / 8;
    if (s->length() < min_length || right.length() < min_length) {
      --s->bad_left;
      --right.bad_left;
      break_patterns(s->first, s->last);
      break_patterns(right.first, right.last);
    }
    return right;
  }

  bool less(typename std::iterator_traits<Iterator>::reference a,
            typename std::iterator_traits<Iterator>::reference b) const {
    return static_cast<bool>(comp_(a, b));
  }

  static constexpr difference kSmall = 24;

 private:
  // Elements that fit into registers: partitioning without branches on the comparison is faster.
  using kIsCheap = std::integral_constant<
      bool,
      std::is_trivially_copyable<value>::value &&
          std::is_lvalue_reference<typename std::iterator_traits<Iterator>::reference>::value &&
          sizeof(value) <= 16>;

  // ---- pivot

  void order(Iterator a, Iterator b) const {
    if (less(*b, *a)) std::iter_swap(a, b);
  }
  void order(Iterator a, Iterator b, Iterator c) const {
    order(a, b);
    order(b, c);
    order(a, b);
  }

  // Puts a median of several elements into *first.
  void choose_pivot(Iterator first, Iterator last) const {
    const difference n = last - first;
    const Iterator middle = first + n / 2;
    if (n > 128) {
      order(first, middle, last - 1);
      order(first + 1, middle - 1, last - 2);
      order(first + 2, middle + 1, last - 3);
      order(middle - 1, middle, middle + 1);
      std::iter_swap(first, middle);
    } else {
      order(middle, first, last - 1);
    }
  }

  // Swaps a few elements, so that the next pivots come from other places.
  static void break_patterns(Iterator first, Iterator last) {
    const difference n = last - first;
    if (n <= kSmall) return;
    const difference quarter = n / 4;
    std::iter_swap(first, first + quarter);
    std::iter_swap(last - 1, last - quarter);
    if (n > 128) {
      std::iter_swap(first + 1, first + (quarter + 1));
      std::iter_swap(first + 2, first + (quarter + 2));
      std::iter_swap(last - 2, last - (quarter + 1));
      std::iter_swap(last - 3, last - (quarter + 2));
    }
  }

  // ---- partitioning; the pivot is *first, the result is its final place

  // Moves the elements for which is_left(place) is true before the others.
  template <typename IsLeft>
  static Iterator divide_by(Iterator first, Iterator last, const IsLeft& is_left) {
    Iterator left = first + 1;
    Iterator right = last;
    for (;;) {
      while (left != right && is_left(left)) ++left;
      while (left != right && !is_left(right - 1)) --right;
      if (left == right) break;
      --right;
      std::iter_swap(left, right);
      ++left;
    }
    --left;
    std::iter_swap(first, left);
    return left;
  }

  Iterator divide_less(Iterator first, Iterator last, std::false_type) const {
    return divide_by(first, last, [&](Iterator place) { return less(*place, *first); });
  }

  // Moves the elements that equal the pivot before those that are greater.
  Iterator divide_equal(Iterator first, Iterator last) const {
    return divide_by(first, last, [&](Iterator place) { return !less(*first, *place); });
  }

  // Which of up to kBlock elements on one side belong to the other side. The first `begin` of them
  // are already swapped.
  struct misplaced {
    static constexpr difference kBlock = 64;
    std::uint8_t offset[kBlock];
    difference begin = 0;
    difference count = 0;
  };

  Iterator divide_less(Iterator first, Iterator last, std::true_type) const {
    value pivot = *first;
    Iterator left = first + 1;  // the elements from left to right are not classified yet
    Iterator right = last;
    Iterator left_block = left;    // offsets count upwards from here
    Iterator right_block = right;  // offsets count downwards from here
    misplaced in_left, in_right;
    // Often most elements at either end are in place.
    while (left != right && less(*left, pivot)) ++left;
    while (left != right && !less(*(right - 1), pivot)) --right;
    while (left != right) {
      const difference unknown = right - left;
      difference from_left = 0;
      difference from_right = 0;
      if (in_left.count == 0) from_left = in_right.count == 0 ? unknown / 2 : unknown;
      if (in_right.count == 0) from_right = unknown - from_left;
      if (in_left.count == 0) {
        left_block = left;
        left = collect_left(left, std::min(from_left, misplaced::kBlock), pivot, &in_left);
      }
      if (in_right.count == 0) {
        right_block = right;
        right = collect_right(right, std::min(from_right, misplaced::kBlock), pivot, &in_right);
      }
      const difference pairs = std::min(in_left.count, in_right.count);
      for (difference i = 0; i < pairs; ++i) {
        std::iter_swap(left_block + in_left.offset[in_left.begin + i],
                       right_block - in_right.offset[in_right.begin + i]);
      }
      in_left.begin += pairs;
      in_left.count -= pairs;
      in_right.begin += pairs;
      in_right.count -= pairs;
    }
    while (in_left.count > 0) {
      --in_left.count;
      --left;
      std::iter_swap(left_block + in_left.offset[in_left.begin + in_left.count], left);
    }
    while (in_right.count > 0) {
      --in_right.count;
      std::iter_swap(right_block - in_right.offset[in_right.begin + in_right.count], left);
      ++left;
    }
    --left;
    std::iter_swap(first, left);
    return left;
  }

  Iterator collect_left(Iterator at, difference n, value& pivot, misplaced* found) const {
    difference count = 0;
    for (difference i = 0; i < n; ++i, ++at) {
      found->offset[count] = static_cast<std::uint8_t>(i);
      count += less(*at, pivot) ? 0 : 1;
    }
    found->begin = 0;
    found->count = count;
    return at;
  }
  Iterator collect_right(Iterator at, difference n, value& pivot, misplaced* found) const {
    difference count = 0;
    for (difference i = 1; i <= n; ++i) {
      --at;
      found->offset[count] = static_cast<std::uint8_t>(i);
      count += less(*at, pivot) ? 1 : 0;
    }
    found->begin = 0;
    found->count = count;
    return at;
  }

  // ---- small spans, and spans with too many bad pivots

  // An element that has been moved out, and the place it goes back to, also when a comparison
  // throws. If moving it back throws during unwinding, the element is lost.
  struct hole {
    Iterator place;
    value element;
    bool open = true;
    explicit hole(Iterator at) : place(at), element(std::move(*at)) {}
    hole(const hole&) = delete;
    hole& operator=(const hole&) = delete;
    void fill() {
      open = false;
      *place = std::move(element);
    }
#if CORBEL_EXCEPTIONS
    ~hole() {
      if (!open) return;
      try {
        fill();
      } catch (...) {
      }
    }
#endif
  };

  void insert(Iterator first, Iterator last) const {
    if (first == last) return;
    for (Iterator next = first + 1; next != last; ++next) {
      if (!less(*next, *(next - 1))) continue;
      hole taken(next);
      do {
        *taken.place = std::move(*(taken.place - 1));
        --taken.place;
      } while (taken.place != first && static_cast<bool>(comp_(taken.element, *(taken.place - 1))));
      taken.fill();
    }
  }

  void sift_down(Iterator first, difference at, difference length) const {
    for (difference child = 2 * at + 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && less(first[child], first[child + 1])) ++child;
      if (!less(first[at], first[child])) return;
      std::iter_swap(first + at, first + child);
      at = child;
    }
  }

  void sort_by_heap(Iterator first, Iterator last) const {
    const difference length = last - first;
    for (difference i = length / 2; i > 0; --i) sift_down(first, i - 1, length);
    for (difference i = length - 1; i > 0; --i) {
      std::iter_swap(first, first + i);
      sift_down(first, 0, i);
    }
  }

  const Compare& comp_;
};

template <typename Iterator, typename Compare>
constexpr typename quick_sort<Iterator, Compare>::difference quick_sort<Iterator, Compare>::kSmall;
template <typename Iterator, typename Compare>
constexpr typename quick_sort<Iterator, Compare>::difference
    quick_sort<Iterator, Compare>::misplaced::kBlock;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUICK_SORT_HPP
