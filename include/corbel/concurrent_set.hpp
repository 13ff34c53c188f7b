// SPDX-License-Identifier: Apache-2.0
// Sorted sets into which several threads may insert. C++11 and later. Follows the oneTBB
// specification 1.4 (concurrent_set, concurrent_multiset).
#ifndef CORBEL_CONCURRENT_SET_HPP
#define CORBEL_CONCURRENT_SET_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>  // and std::less
#include <type_traits>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/key_hint.hpp>
#include <corbel/detail/node_handle.hpp>
#include <corbel/detail/ordered_container.hpp>
#include <corbel/tbb_allocator.hpp>

namespace corbel {

namespace detail {

// The Policy of ordered_container for sets.
template <typename T, typename Compare, typename Allocator, bool kIsMulti>
struct set_policy {
  using key_type = T;
  using value_type = T;
  using key_compare = Compare;
  using value_compare = Compare;
  using allocator_type = Allocator;
  using node = ordered_node<T, Allocator, key_hint<T>::kExists>;
  using node_types = ordered_node_types<T, Allocator, key_hint<T>::kExists>;
  using node_type = node_handle<T, T, node, Allocator>;
  static constexpr bool kMulti = kIsMulti;

  static const T& key(const T& value) { return value; }
  static Compare make_value_compare(const Compare& compare) { return compare; }

  template <typename K>
  static typename std::enable_if<std::is_same<K, T>::value, const T*>::type early_key(
      const K& key) {
    return std::addressof(key);
  }
  template <typename... Arguments>
  static std::nullptr_t early_key(const Arguments&...) {
    return nullptr;
  }
};

}  // namespace detail

// A sorted set without equal elements. detail/ordered_container.hpp documents the members. An
// element must not be changed such that its order changes, although the iterators allow it, as they
// do in TBB.
template <typename T, typename Compare = std::less<T>, typename Allocator = tbb_allocator<T>>
class concurrent_set
    : public detail::ordered_container<detail::set_policy<T, Compare, Allocator, false>> {
  using base = detail::ordered_container<detail::set_policy<T, Compare, Allocator, false>>;

 public:
  using base::base;
  concurrent_set() = default;
  concurrent_set(const concurrent_set& other, const Allocator& allocator)
      : base(other, allocator) {}
  concurrent_set(concurrent_set&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {}
  concurrent_set& operator=(std::initializer_list<T> elements) {
    base::operator=(elements);
    return *this;
  }
};

// A sorted set whose elements may be equal.
template <typename T, typename Compare = std::less<T>, typename Allocator = tbb_allocator<T>>
class concurrent_multiset
    : public detail::ordered_container<detail::set_policy<T, Compare, Allocator, true>> {
  using base = detail::ordered_container<detail::set_policy<T, Compare, Allocator, true>>;

 public:
  using base::base;
  concurrent_multiset() = default;
  concurrent_multiset(const concurrent_multiset& other, const Allocator& allocator)
      : base(other, allocator) {}
  concurrent_multiset(concurrent_multiset&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {}
  concurrent_multiset& operator=(std::initializer_list<T> elements) {
    base::operator=(elements);
    return *this;
  }
};

// As a.swap(b).
template <typename T, typename Compare, typename Allocator>
void swap(concurrent_set<T, Compare, Allocator>& a,
          concurrent_set<T, Compare, Allocator>& b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}
template <typename T, typename Compare, typename Allocator>
void swap(concurrent_multiset<T, Compare, Allocator>& a,
          concurrent_multiset<T, Compare, Allocator>& b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

#if defined(__cpp_deduction_guides)
template <typename I, typename C = std::less<detail::iterator_value<I>>,
          typename A = tbb_allocator<detail::iterator_value<I>>, typename = detail::if_iterator<I>,
          typename = detail::unless_allocator<C>, typename = detail::if_allocator<A>>
concurrent_set(I, I, C = C(), A = A()) -> concurrent_set<detail::iterator_value<I>, C, A>;
template <typename I, typename A, typename = detail::if_iterator<I>,
          typename = detail::if_allocator<A>>
concurrent_set(I, I, A)
    -> concurrent_set<detail::iterator_value<I>, std::less<detail::iterator_value<I>>, A>;
template <typename T, typename C = std::less<T>, typename A = tbb_allocator<T>,
          typename = detail::unless_allocator<C>, typename = detail::if_allocator<A>>
concurrent_set(std::initializer_list<T>, C = C(), A = A()) -> concurrent_set<T, C, A>;
template <typename T, typename A, typename = detail::if_allocator<A>>
concurrent_set(std::initializer_list<T>, A) -> concurrent_set<T, std::less<T>, A>;

template <typename I, typename C = std::less<detail::iterator_value<I>>,
          typename A = tbb_allocator<detail::iterator_value<I>>, typename = detail::if_iterator<I>,
          typename = detail::unless_allocator<C>, typename = detail::if_allocator<A>>
concurrent_multiset(I, I, C = C(), A = A()) -> concurrent_multiset<detail::iterator_value<I>, C, A>;
template <typename I, typename A, typename = detail::if_iterator<I>,
          typename = detail::if_allocator<A>>
concurrent_multiset(I, I, A)
    -> concurrent_multiset<detail::iterator_value<I>, std::less<detail::iterator_value<I>>, A>;
template <typename T, typename C = std::less<T>, typename A = tbb_allocator<T>,
          typename = detail::unless_allocator<C>, typename = detail::if_allocator<A>>
concurrent_multiset(std::initializer_list<T>, C = C(), A = A()) -> concurrent_multiset<T, C, A>;
template <typename T, typename A, typename = detail::if_allocator<A>>
concurrent_multiset(std::initializer_list<T>, A) -> concurrent_multiset<T, std::less<T>, A>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_SET_HPP
