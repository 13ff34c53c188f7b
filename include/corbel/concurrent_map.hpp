// SPDX-License-Identifier: Apache-2.0
// Sorted maps into which several threads may insert. C++11 and later. Follows the oneTBB
// specification 1.4 (concurrent_map, concurrent_multimap).
#ifndef CORBEL_CONCURRENT_MAP_HPP
#define CORBEL_CONCURRENT_MAP_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>  // and std::less
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/key_hint.hpp>
#include <corbel/detail/node_handle.hpp>
#include <corbel/detail/ordered_container.hpp>
#include <corbel/tbb_allocator.hpp>

namespace corbel {

namespace detail {

// The Policy of ordered_container for maps.
template <typename Key, typename T, typename Compare, typename Allocator, bool kIsMulti>
struct map_policy {
  using key_type = Key;
  using value_type = std::pair<const Key, T>;
  using key_compare = Compare;
  using allocator_type = Allocator;
  using node = ordered_node<value_type, Allocator, key_hint<Key>::kExists>;
  using node_types = ordered_node_types<value_type, Allocator, key_hint<Key>::kExists>;
  using node_type = node_handle<Key, value_type, node, Allocator>;
  static constexpr bool kMulti = kIsMulti;

  // Compares elements by their keys.
  class value_compare {
   public:
    bool operator()(const value_type& a, const value_type& b) const {
      return comp(a.first, b.first);
    }

   protected:
    friend struct map_policy;
    explicit value_compare(Compare c) : comp(c) {}

    Compare comp;
  };
  static value_compare make_value_compare(const Compare& compare) { return value_compare(compare); }

  static const Key& key(const value_type& value) { return value.first; }

  template <typename K, typename U>
  static typename std::enable_if<std::is_same<K, Key>::value, const Key*>::type early_key(
      const K& key, const U&) {
    return std::addressof(key);
  }
  template <typename K, typename U>
  static typename std::enable_if<std::is_same<typename std::remove_const<K>::type, Key>::value,
                                 const Key*>::type
  early_key(const std::pair<K, U>& value) {
    return std::addressof(value.first);
  }
  template <typename... Arguments>
  static std::nullptr_t early_key(const Arguments&...) {
    return nullptr;
  }
};

}  // namespace detail

// A sorted map with unique keys. detail/ordered_container.hpp documents what is not here.
template <typename Key, typename T, typename Compare = std::less<Key>,
          typename Allocator = tbb_allocator<std::pair<const Key, T>>>
class concurrent_map
    : public detail::ordered_container<detail::map_policy<Key, T, Compare, Allocator, false>> {
  using base = detail::ordered_container<detail::map_policy<Key, T, Compare, Allocator, false>>;

 public:
  using mapped_type = T;
  using typename base::value_type;

  using base::base;
  concurrent_map() = default;
  concurrent_map(const concurrent_map& other, const Allocator& allocator)
      : base(other, allocator) {}
  concurrent_map(concurrent_map&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {}
  concurrent_map& operator=(std::initializer_list<value_type> elements) {
    base::operator=(elements);
    return *this;
  }

  // Return what the key is mapped to; if it is not in the map, insert it with T(). Any number of
  // threads may call them, but what they return is not protected.
  T& operator[](const Key& key) {
    return this
        ->insert_value(key, std::piecewise_construct, std::forward_as_tuple(key), std::tuple<>())
        .first->second;
  }
  T& operator[](Key&& key) {
    return this
        ->insert_value(key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                       std::tuple<>())
        .first->second;
  }

  // Return what the key is mapped to. Throw std::out_of_range if it is not in the map.
  T& at(const Key& key) { return existing(this->find(key), this->end()); }
  const T& at(const Key& key) const { return existing(this->find(key), this->end()); }

 private:
  template <typename Iterator>
  static auto existing(Iterator found, Iterator end) -> decltype((found->second)) {
    if (found == end) detail::raise(std::out_of_range("the key is not in the map"));
    return found->second;
  }
};

// A sorted map whose keys may be equal.
template <typename Key, typename T, typename Compare = std::less<Key>,
          typename Allocator = tbb_allocator<std::pair<const Key, T>>>
class concurrent_multimap
    : public detail::ordered_container<detail::map_policy<Key, T, Compare, Allocator, true>> {
  using base = detail::ordered_container<detail::map_policy<Key, T, Compare, Allocator, true>>;

 public:
  using mapped_type = T;
  using typename base::value_type;

  using base::base;
  concurrent_multimap() = default;
  concurrent_multimap(const concurrent_multimap& other, const Allocator& allocator)
      : base(other, allocator) {}
  concurrent_multimap(concurrent_multimap&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {}
  concurrent_multimap& operator=(std::initializer_list<value_type> elements) {
    base::operator=(elements);
    return *this;
  }
};

// As a.swap(b).
template <typename Key, typename T, typename Compare, typename Allocator>
void swap(concurrent_map<Key, T, Compare, Allocator>& a,
          concurrent_map<Key, T, Compare, Allocator>& b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}
template <typename Key, typename T, typename Compare, typename Allocator>
void swap(concurrent_multimap<Key, T, Compare, Allocator>& a,
          concurrent_multimap<Key, T, Compare, Allocator>& b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

#if defined(__cpp_deduction_guides)
template <typename I, typename C = std::less<detail::iterator_key<I>>,
          typename A = tbb_allocator<detail::iterator_element<I>>,
          typename = detail::if_iterator<I>, typename = detail::unless_allocator<C>,
          typename = detail::if_allocator<A>>
concurrent_map(I, I, C = C(), A = A())
    -> concurrent_map<detail::iterator_key<I>, detail::iterator_mapped<I>, C, A>;
template <typename I, typename A, typename = detail::if_iterator<I>,
          typename = detail::if_allocator<A>>
concurrent_map(I, I, A) -> concurrent_map<detail::iterator_key<I>, detail::iterator_mapped<I>,
                                          std::less<detail::iterator_key<I>>, A>;
template <typename K, typename T, typename C = std::less<std::remove_const_t<K>>,
          typename A = tbb_allocator<std::pair<const K, T>>, typename = detail::unless_allocator<C>,
          typename = detail::if_allocator<A>>
concurrent_map(std::initializer_list<std::pair<K, T>>, C = C(), A = A())
    -> concurrent_map<std::remove_const_t<K>, T, C, A>;
template <typename K, typename T, typename A, typename = detail::if_allocator<A>>
concurrent_map(std::initializer_list<std::pair<K, T>>, A)
    -> concurrent_map<std::remove_const_t<K>, T, std::less<std::remove_const_t<K>>, A>;

template <typename I, typename C = std::less<detail::iterator_key<I>>,
          typename A = tbb_allocator<detail::iterator_element<I>>,
          typename = detail::if_iterator<I>, typename = detail::unless_allocator<C>,
          typename = detail::if_allocator<A>>
concurrent_multimap(I, I, C = C(), A = A())
    -> concurrent_multimap<detail::iterator_key<I>, detail::iterator_mapped<I>, C, A>;
template <typename I, typename A, typename = detail::if_iterator<I>,
          typename = detail::if_allocator<A>>
concurrent_multimap(I, I, A)
    -> concurrent_multimap<detail::iterator_key<I>, detail::iterator_mapped<I>,
                           std::less<detail::iterator_key<I>>, A>;
template <typename K, typename T, typename C = std::less<std::remove_const_t<K>>,
          typename A = tbb_allocator<std::pair<const K, T>>, typename = detail::unless_allocator<C>,
          typename = detail::if_allocator<A>>
concurrent_multimap(std::initializer_list<std::pair<K, T>>, C = C(), A = A())
    -> concurrent_multimap<std::remove_const_t<K>, T, C, A>;
template <typename K, typename T, typename A, typename = detail::if_allocator<A>>
concurrent_multimap(std::initializer_list<std::pair<K, T>>, A)
    -> concurrent_multimap<std::remove_const_t<K>, T, std::less<std::remove_const_t<K>>, A>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_MAP_HPP
