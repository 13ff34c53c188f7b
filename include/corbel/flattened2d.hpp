// SPDX-License-Identifier: Apache-2.0
// A view of a container of containers as one sequence. C++11 and later. Follows the oneTBB
// specification 1.4 (flattened2d, flatten2d).
#ifndef CORBEL_FLATTENED2D_HPP
#define CORBEL_FLATTENED2D_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace corbel {
namespace detail {

// A forward iterator ([forward.iterators]) over the elements of the inner containers. Value is
// their value type, const for the const_iterator.
template <typename Container, typename Value>
class flat_iterator {
  template <typename, typename>
  friend class flat_iterator;

  using outer_iterator = typename Container::const_iterator;
  using inner_container = typename Container::value_type;
  using inner_iterator = typename inner_container::iterator;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  flat_iterator() = default;
  // Points to the first element of the containers in [outer, end).
  flat_iterator(outer_iterator outer, outer_iterator end) : outer_(outer), end_(end) {
    if (outer_ != end_) inner_ = row().begin();
    skip_empty();
  }
  // Converts iterator to const_iterator, and also const_iterator to iterator, as the iterators of
  // enumerable_thread_specific do.
  template <typename Other,
            typename = typename std::enable_if<
                !std::is_same<Other, Value>::value &&
                std::is_same<typename std::remove_const<Other>::type, value_type>::value>::type>
  flat_iterator(const flat_iterator<Container, Other>& other)
      : outer_(other.outer_), end_(other.end_), inner_(other.inner_) {}

  reference operator*() const { return *inner_; }
  pointer operator->() const { return &*inner_; }
  flat_iterator& operator++() {
    ++inner_;
    skip_empty();
    return *this;
  }
  flat_iterator operator++(int) {
    flat_iterator before = *this;
    ++*this;
    return before;
  }

  template <typename Other>
  bool operator==(const flat_iterator<Container, Other>& other) const {
    return outer_ == other.outer_ && (outer_ == end_ || inner_ == other.inner_);
  }
  template <typename Other>
  bool operator!=(const flat_iterator<Container, Other>& other) const {
    return !(*this == other);
  }

 private:
  // The cast is valid: the containers are the program's and not const. The view takes a const
  // reference because it changes no container itself.
  inner_container& row() const { return const_cast<inner_container&>(*outer_); }

  void skip_empty() {
    while (outer_ != end_ && inner_ == inner_iterator(row().end())) {
      ++outer_;
      if (outer_ != end_) inner_ = row().begin();
    }
  }

  outer_iterator outer_{};
  outer_iterator end_{};
  inner_iterator inner_{};
};

}  // namespace detail

// A view of the elements of all inner containers of a Container, such as
// enumerable_thread_specific<std::vector<X>>. It refers to the container, which must outlive it. It
// must not be used while another thread changes the container or one of its elements.
template <typename Container>
class flattened2d {
  using conval_type = typename Container::value_type;

 public:
  using size_type = typename conval_type::size_type;
  using difference_type = typename conval_type::difference_type;
  using allocator_type = typename conval_type::allocator_type;
  using value_type = typename conval_type::value_type;
  using reference = typename conval_type::reference;
  using const_reference = typename conval_type::const_reference;
  using pointer = typename conval_type::pointer;
  using const_pointer = typename conval_type::const_pointer;
  using iterator = detail::flat_iterator<Container, value_type>;
  using const_iterator = detail::flat_iterator<Container, const value_type>;

  // Views all containers in `container`, or those in [first, last).
  explicit flattened2d(const Container& container)
      : first_(container.begin()), last_(container.end()) {}
  flattened2d(const Container&, typename Container::const_iterator first,
              typename Container::const_iterator last)
      : first_(first), last_(last) {}

  // Iterate over the elements, container by container.
  iterator begin() { return iterator(first_, last_); }
  iterator end() { return iterator(last_, last_); }
  const_iterator begin() const { return const_iterator(first_, last_); }
  const_iterator end() const { return const_iterator(last_, last_); }

  // Returns the sum of the containers' sizes, in time linear in their number.
  size_type size() const {
    size_type sum = 0;
    for (typename Container::const_iterator row = first_; row != last_; ++row) sum += row->size();
    return sum;
  }

 private:
  typename Container::const_iterator first_;
  typename Container::const_iterator last_;
};

// Return a flattened2d of all containers in `container`, or of those in [first, last).
template <typename Container>
flattened2d<Container> flatten2d(const Container& container) {
  return flattened2d<Container>(container);
}
template <typename Container>
flattened2d<Container> flatten2d(const Container& container,
                                 typename Container::const_iterator first,
                                 typename Container::const_iterator last) {
  return flattened2d<Container>(container, first, last);
}

}  // namespace corbel

#endif  // CORBEL_FLATTENED2D_HPP
