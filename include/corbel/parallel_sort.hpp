// SPDX-License-Identifier: Apache-2.0
// Sorts a sequence in parallel. C++11 and later. Follows the oneTBB specification 1.4
// ([algorithms.parallel_sort]).
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
#include <corbel/detail/range_loop.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/partitioner.hpp>

namespace corbel {
namespace detail {

// One call of parallel_sort. Each partition step spawns one of its two parts; the thread takes it
// back if no other thread has stolen it.
template <typename Iterator, typename Compare>
class sort_call {
 public:
  using sorter = quick_sort<Iterator, Compare>;
  using span = typename sorter::span;
  using difference = typename sorter::difference;

  sort_call(context_node& group, const Compare& comp) : group_(group), sorter_(comp) {}

  void run(thread_data& thread, Iterator first, Iterator last) {
    const difference n = last - first;
    if (n < 2) return;
    if (n <= kMaxSerial) {
      sorter_.sort(sorter::whole(first, last));
      return;
    }
    const call_trace trace(thread);
    if (is_sorted(thread, first, last) || thread.is_cancelled(group_)) return;
    const span all = sorter::whole(first, last);
    call_captured(group_, [&] { sort(thread, all); });
    pending_.wait(thread);
  }

 private:
  // Up to this length one thread sorts alone: about 10 us.
  static constexpr difference kMaxSerial =
      std::is_trivially_copyable<typename sorter::value>::value ? 1024 : 256;

  void sort(thread_data& thread, span s) {
    while (s.length() > kMaxSerial && s.bad_left != 0) {
      if (thread.is_cancelled(group_)) return;
      const span right = sorter_.divide(&s);
      if (s.length() < 2) {
        s = right;
      } else {
        detail::spawn_part(thread, group_, pending_, *this, sort_part{right});
      }
    }
    sorter_.sort(s);
  }

  // ---- is the sequence sorted already?

  bool is_sorted(thread_data& thread, Iterator first, Iterator last) {
    // This cheap test detects most unsorted sequences.
    for (difference i = 1; i < 16; ++i) {
      if (sorter_.less(first[i], first[i - 1])) return false;
    }
    const auto check = [&](const blocked_range<difference>& places) {
      // relaxed: a thread that reads it late only checks a few more elements
      if (unsorted_.load(std::memory_order_relaxed)) return;
      for (difference i = places.begin(); i != places.end(); ++i) {
        if (!sorter_.less(first[i], first[i - 1])) continue;
        unsorted_.store(true, std::memory_order_relaxed);  // relaxed: the loop's end orders it
        return;
      }
    };
    const blocked_range<difference> rest(16, last - first, kMaxSerial);
    run_loop<copy_body, simple_partitioner>(thread, group_, rest, check, simple_partitioner());
    return !unsorted_.load(std::memory_order_relaxed);  // relaxed: as above
  }

  // ---- tasks

  struct sort_part {
    span part;
    void run(thread_data& thread, sort_call& call) const { call.sort(thread, part); }
  };

  context_node& group_;
  const sorter sorter_;
  wait_count pending_;
  std::atomic<bool> unsorted_{false};
};

template <typename Iterator, typename Compare>
constexpr
    typename sort_call<Iterator, Compare>::difference sort_call<Iterator, Compare>::kMaxSerial;

// The default comparison.
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

// Sorts [first, last) by comp: afterwards comp(*j, *i) is false for each i before j. The iterators
// are random access iterators; elements must be swappable, move constructible and move assignable.
// comp is a strict weak ordering and is called as const from several threads.
//
// Like std::sort it makes O(n log n) comparisons and may swap equal elements. A sorted sequence is
// only compared, n - 1 times. If comp throws, the exception is thrown here, and the sequence holds
// its elements in an unspecified order; the order is unspecified too if the context of the call is
// cancelled. Allocates only a few tasks; bad_alloc is treated like an exception of comp. Any thread
// may call it.
template <typename RandomAccessIterator, typename Compare>
CORBEL_REQUIRES(detail::is_sorted_by<RandomAccessIterator, Compare>)
inline void parallel_sort(RandomAccessIterator first, RandomAccessIterator last,
                          const Compare& comp) {
  detail::call_in_group([&](detail::thread_data& thread, detail::context_node& group) {
    detail::sort_call<RandomAccessIterator, Compare> call(group, comp);
    call.run(thread, first, last);
  });
}

// Sorts [first, last) by operator<, as above.
template <typename RandomAccessIterator>
CORBEL_REQUIRES(detail::is_sorted_by<RandomAccessIterator, detail::is_less>)
inline void parallel_sort(RandomAccessIterator first, RandomAccessIterator last) {
  corbel::parallel_sort(first, last, detail::is_less());
}

// Sorts the elements from std::begin(items) to std::end(items) by comp, as above.
template <typename Container, typename Compare, typename = detail::begin_of<Container>>
CORBEL_REQUIRES(detail::is_sorted_by<detail::begin_of<Container>, Compare>)
inline void parallel_sort(Container&& items, const Compare& comp) {
  corbel::parallel_sort(std::begin(items), std::end(items), comp);
}

// Sorts the elements from std::begin(items) to std::end(items) by operator<, as above.
template <typename Container, typename = detail::begin_of<Container>>
CORBEL_REQUIRES(detail::is_sorted_by<detail::begin_of<Container>, detail::is_less>)
inline void parallel_sort(Container&& items) {
  corbel::parallel_sort(std::begin(items), std::end(items), detail::is_less());
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_SORT_HPP
