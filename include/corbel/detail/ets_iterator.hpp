// SPDX-License-Identifier: Apache-2.0
// Iterators and ranges over the elements of enumerable_thread_specific. Not for programs to
// include.
#ifndef CORBEL_DETAIL_ETS_ITERATOR_HPP
#define CORBEL_DETAIL_ETS_ITERATOR_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <corbel/blocked_range.hpp>

namespace corbel {
namespace detail {

// A random access iterator ([random.access.iterators]) that holds the index of an element. Value is
// T or const T.
template <typename Container, typename Value>
class ets_iterator {
  template <typename, typename>
  friend class ets_iterator;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  ets_iterator() = default;
  ets_iterator(const Container* container, std::size_t index)
      : container_(container), index_(static_cast<difference_type>(index)) {}
  // Converts iterator to const_iterator, and also const_iterator to iterator: the elements are
  // those of the threads and not const. Programs that iterate in const functions of their own rely
  // on it.
  template <typename Other,
            typename = typename std::enable_if<
                !std::is_same<Other, Value>::value &&
                std::is_same<typename std::remove_const<Other>::type, value_type>::value>::type>
  ets_iterator(const ets_iterator<Container, Other>& other)
      : container_(other.container_), index_(other.index_) {}

  reference operator*() const { return container_->element(static_cast<std::size_t>(index_)); }
  pointer operator->() const { return &**this; }
  reference operator[](difference_type n) const { return *(*this + n); }

  ets_iterator& operator+=(difference_type n) {
    index_ += n;
    return *this;
  }
  ets_iterator& operator-=(difference_type n) { return *this += -n; }
  ets_iterator& operator++() { return *this += 1; }
  ets_iterator& operator--() { return *this += -1; }
  ets_iterator operator++(int) {
    ets_iterator before = *this;
    ++*this;
    return before;
  }
  ets_iterator operator--(int) {
    ets_iterator before = *this;
    --*this;
    return before;
  }
  friend ets_iterator operator+(ets_iterator it, difference_type n) { return it += n; }
  friend ets_iterator operator+(difference_type n, ets_iterator it) { return it += n; }
  friend ets_iterator operator-(ets_iterator it, difference_type n) { return it -= n; }

  // These also take an iterator and a const_iterator.
  template <typename Other>
  difference_type operator-(const ets_iterator<Container, Other>& other) const {
    return index_ - other.index_;
  }
  template <typename Other>
  bool operator==(const ets_iterator<Container, Other>& other) const {
    return index_ == other.index_ && container_ == other.container_;
  }
  template <typename Other>
  bool operator!=(const ets_iterator<Container, Other>& other) const {
    return !(*this == other);
  }
  template <typename Other>
  bool operator<(const ets_iterator<Container, Other>& other) const {
    return index_ < other.index_;
  }
  template <typename Other>
  bool operator>(const ets_iterator<Container, Other>& other) const {
    return other < *this;
  }
  template <typename Other>
  bool operator<=(const ets_iterator<Container, Other>& other) const {
    return !(other < *this);
  }
  template <typename Other>
  bool operator>=(const ets_iterator<Container, Other>& other) const {
    return !(*this < other);
  }

 private:
  const Container* container_ = nullptr;
  difference_type index_ = 0;
};

// A blocked_range with the member types that the specification requires of a container's range.
template <typename Iterator>
class ets_range : public blocked_range<Iterator> {
 public:
  using value_type = typename std::iterator_traits<Iterator>::value_type;
  using reference = typename std::iterator_traits<Iterator>::reference;
  using const_reference = const value_type&;
  using size_type = std::size_t;
  using difference_type = typename std::iterator_traits<Iterator>::difference_type;
  using iterator = Iterator;

  ets_range(Iterator begin, Iterator end, std::size_t grainsize = 1)
      : blocked_range<Iterator>(begin, end, grainsize) {}
  // Converts range_type to const_range_type, or back.
  template <typename Other>
  ets_range(const ets_range<Other>& other)
      : blocked_range<Iterator>(other.begin(), other.end(), other.grainsize()) {}
  ets_range(ets_range& whole, split how) : blocked_range<Iterator>(whole, how) {}
  ets_range(ets_range& whole, const proportional_split& how)
      : blocked_range<Iterator>(whole, how) {}
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ETS_ITERATOR_HPP
