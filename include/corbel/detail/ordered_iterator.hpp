// SPDX-License-Identifier: Apache-2.0
// Iterators and ranges of the ordered containers. Not for programs to include.
#ifndef CORBEL_DETAIL_ORDERED_ITERATOR_HPP
#define CORBEL_DETAIL_ORDERED_ITERATOR_HPP

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/detail/skip_list.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// A forward iterator ([forward.iterators]) over the nodes of a skip list. Value is the type of the
// elements, or const. Insertions leave it valid. Different objects may be used by several threads
// at the same time; an iteration sees all elements that were in the container when it began, and
// some of those that came later, in order.
template <typename Node, typename Value>
class ordered_iterator {
  template <typename, typename>
  friend class ordered_iterator;
  using skip_list = typename Node::list;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  ordered_iterator() = default;
  explicit ordered_iterator(typename skip_list::link* tower) noexcept : tower_(tower) {}
  // Converts iterator to const_iterator.
  template <typename Other,
            typename = typename std::enable_if<std::is_same<Other, value_type>::value &&
                                               !std::is_same<Other, Value>::value>::type>
  ordered_iterator(const ordered_iterator<Node, Other>& other) noexcept : tower_(other.tower_) {}

  reference operator*() const { return Node::of(tower_)->element; }
  pointer operator->() const { return std::addressof(**this); }

  ordered_iterator& operator++() {
    tower_ = skip_list::next(tower_);
    return *this;
  }
  ordered_iterator operator++(int) {
    ordered_iterator before = *this;
    ++*this;
    return before;
  }

  // These also compare an iterator with a const_iterator.
  template <typename Other>
  bool operator==(const ordered_iterator<Node, Other>& other) const noexcept {
    return tower_ == other.tower_;
  }
  template <typename Other>
  bool operator!=(const ordered_iterator<Node, Other>& other) const noexcept {
    return tower_ != other.tower_;
  }

  // The tower of the element, nullptr at the end: for the container.
  typename skip_list::link* tower() const noexcept { return tower_; }

 private:
  typename skip_list::link* tower_ = nullptr;
};

// A part of an ordered container that can be split, down to single elements ([req.container_range]
// of the oneTBB specification). It is split at towers of the highest level that it has, whose
// distances are about equal. Other threads may insert meanwhile: an element is in that part of the
// container in whose bounds it belongs.
template <typename List, typename Iterator>
class ordered_range {
  template <typename, typename>
  friend class ordered_range;
  using link = typename List::link;

 public:
  using iterator = Iterator;
  using value_type = typename std::iterator_traits<Iterator>::value_type;
  using reference = typename std::iterator_traits<Iterator>::reference;
  using const_reference = const value_type&;
  using difference_type = typename std::iterator_traits<Iterator>::difference_type;
  using size_type = std::size_t;

  // Makes the range of all elements.
  explicit ordered_range(const List& list)
      : from_(list.head()), end_(nullptr), level_(list.height() - 1), is_first_(true) {}
  // Converts range_type to const_range_type.
  template <typename Other,
            typename = typename std::enable_if<std::is_convertible<Other, Iterator>::value &&
                                               !std::is_same<Other, Iterator>::value>::type>
  ordered_range(const ordered_range<List, Other>& other)
      : from_(other.from_), end_(other.end_), level_(other.level_), is_first_(other.is_first_) {}
  // Takes about the upper half of `whole`, which must be divisible.
  ordered_range(ordered_range& whole, split)
      : from_(whole.find_middle()), end_(whole.end_), level_(whole.level_), is_first_(false) {
    whole.end_ = from_;
  }

  iterator begin() const { return Iterator(first()); }
  iterator end() const { return Iterator(end_); }

  // Whether there are no elements; whether there is more than one.
  bool empty() const { return first() == end_; }
  bool is_divisible() const {
    link* const tower = first();
    return tower != end_ && List::next(tower) != end_;
  }
  // The number of elements, which are counted one by one.
  size_type size() const {
    size_type count = 0;
    for (link* tower = first(); tower != end_; tower = List::next(tower)) ++count;
    return count;
  }
  // The number of elements up to which a range is not divisible: 1.
  size_type grainsize() const { return 1; }

 private:
  link* first() const { return is_first_ ? List::next(from_) : from_; }

  // Returns a tower after the first, in the middle of those of its level, and sets the level: the
  // highest with enough towers that they divide the elements about evenly, whatever their heights.
  link* find_middle() {
    CORBEL_ASSERT(is_divisible(), "a range that is not divisible is split");
    constexpr int kEnough = 8;
    link* const begin = first();
    for (;; --level_) {
      link* middle = List::next(from_, level_);
      if (middle == begin && begin != end_) middle = List::next(middle, level_);
      int half = 0;
      for (link* at = middle; at != end_; ++half) {
        if ((at = List::next(at, level_)) == end_) break;
        if ((at = List::next(at, level_)) == end_) break;
        middle = List::next(middle, level_);
      }
      if (half >= kEnough || level_ == 0) return middle;
    }
  }

  // The head of the list or the tower of the first element. All levels up to level_ have it and the
  // tower of the end.
  link* from_;
  link* end_;
  int level_;
  bool is_first_;  // from_ is the head
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ORDERED_ITERATOR_HPP
