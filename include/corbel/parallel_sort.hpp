// SPDX-License-Identifier: Apache-2.0
// Sorts a sequence in parallel. C++11 upwards; parallel_sort of the oneTBB specification.
#ifndef CORBEL_PARALLEL_SORT_HPP
#define CORBEL_PARALLEL_SORT_HPP

#include <atomic>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/quick_sort.hpp>
#include <corbel/detail/wait_count.hpp>

namespace corbel {
namespace detail {

// One call of parallel_sort. Each division leaves one part to others; who is not helped takes it
// back.
template <typename Iterator, typename Compare>
class sort_call {
 public:
  using sorter = quick_sort<Iterator, Compare>;
  using span = typename sorter::span;
  using difference = typename sorter::difference;

  sort_call(context_node& group, const Compare& comp) : group_(group), sorter_(comp) {}

  void run(worker& w, Iterator first, Iterator last) {
    const difference n = last - first;
    if (n < 2) return;
    if (n <= kAlone) {
      sorter_.sort(sorter::whole(first, last));
      return;
    }
    if (is_sorted(w, first, last) || w.is_cancelled(group_)) return;
    const span all = sorter::whole(first, last);
    call_captured(group_, [&] { sort(w, all); });
    pending_.wait(w);
  }

 private:
  // So many elements are no work for two: some 10 us.
  static constexpr difference kAlone =
      std::is_trivially_copyable<typename sorter::value>::value ? 1024 : 256;

  void sort(worker& w, span s) {
    while (s.length() > kAlone && s.bad_left != 0) {
      if (w.is_cancelled(group_)) return;
      const span right = sorter_.divide(&s);
      if (s.length() < 2) {
        s = right;
      } else {
        detail::offer(w, group_, pending_, *this, sort_part{right});
      }
    }
    sorter_.sort(s);
  }

  // ---- whether there is anything to do

  bool is_sorted(worker& w, Iterator first, Iterator last) {
    // Most sequences that are not sorted are found out here.
    for (difference i = 1; i < 16; ++i) {
      if (sorter_.less(first[i], first[i - 1])) return false;
    }
    call_captured(group_, [&] { check(w, first + 15, last); });
    pending_.wait(w);
    return !unsorted_.load(std::memory_order_relaxed);  // relaxed: read behind the wait
  }

  // From the second element of the span on, none is less than the one before.
  void check(worker& w, Iterator first, Iterator last) {
    while (last - first > 1) {
      if (w.is_cancelled(group_)) return;
      // relaxed: who reads it late has only looked at some more
      if (unsorted_.load(std::memory_order_relaxed)) return;
      if (last - first > 2 * kAlone && w.tasks->seems_empty()) {
        const Iterator middle = first + (last - first) / 2;
        detail::offer(w, group_, pending_, *this, check_part{middle, last});
        last = middle + 1;
      }
      const Iterator end = first + std::min(last - first, kAlone);
      for (++first; first != end; ++first) {
        if (sorter_.less(*first, *(first - 1))) {
          unsorted_.store(true, std::memory_order_relaxed);  // relaxed: as above
          return;
        }
      }
      --first;
    }
  }

  // ---- tasks

  struct sort_part {
    span part;
    void run(worker& w, sort_call& call) const { call.sort(w, part); }
  };
  struct check_part {
    Iterator first, last;
    void run(worker& w, sort_call& call) const { call.check(w, first, last); }
  };

  context_node& group_;
  const sorter sorter_;
  wait_count pending_;
  std::atomic<bool> unsorted_{false};
};

template <typename Iterator, typename Compare>
constexpr typename sort_call<Iterator, Compare>::difference sort_call<Iterator, Compare>::kAlone;

// What parallel_sort compares with if it is not told.
struct is_less {
  template <typename Left, typename Right>
  auto operator()(const Left& left, const Right& right) const
      -> decltype(static_cast<bool>(left < right)) {
    return left < right;
  }
};

template <typename T>
using begin_of = decltype(std::begin(std::declval<T&>()));

#if CORBEL_HAS_CONCEPTS
template <typename Iterator, typename Compare>
concept is_sorted_by = requires(const Compare& comp, Iterator it) {
  it += it - it;
  it[it - it];
  static_cast<bool>(comp(*it, *it));
};
#endif

}  // namespace detail

// Sorts [first, last) so that comp(*j, *i) is false for each i before j; by < without comp. The
// iterators are random access iterators; elements need to be swapped, move constructed and move
// assigned. comp is called as const from several threads and must be a strict weak ordering.
//
// As std::sort: O(n log n) comparisons, elements that are equal may change places. A sequence that
// is sorted already is only compared, n - 1 times. If comp throws, the exception is thrown here,
// and the sequence holds the elements it held before, in some order; the same when the context
// around the call is cancelled. Needs no memory to speak of.
template <typename RandomAccessIterator, typename Compare>
CORBEL_REQUIRES(detail::is_sorted_by<RandomAccessIterator, Compare>)
inline void parallel_sort(RandomAccessIterator first, RandomAccessIterator last,
                          const Compare& comp) {
  detail::call_in_group([&](detail::worker& w, detail::context_node& group) {
    detail::sort_call<RandomAccessIterator, Compare> call(group, comp);
    call.run(w, first, last);
  });
}
template <typename RandomAccessIterator>
CORBEL_REQUIRES(detail::is_sorted_by<RandomAccessIterator, detail::is_less>)
inline void parallel_sort(RandomAccessIterator first, RandomAccessIterator last) {
  corbel::parallel_sort(first, last, detail::is_less());
}

// Sorts what lies between begin(items) and end(items).
template <typename Container, typename Compare, typename = detail::begin_of<Container>>
CORBEL_REQUIRES(detail::is_sorted_by<detail::begin_of<Container>, Compare>)
inline void parallel_sort(Container&& items, const Compare& comp) {
  corbel::parallel_sort(std::begin(items), std::end(items), comp);
}
template <typename Container, typename = detail::begin_of<Container>>
CORBEL_REQUIRES(detail::is_sorted_by<detail::begin_of<Container>, detail::is_less>)
inline void parallel_sort(Container&& items) {
  corbel::parallel_sort(std::begin(items), std::end(items), detail::is_less());
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_SORT_HPP
