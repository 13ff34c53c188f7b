// SPDX-License-Identifier: Apache-2.0
// Concurrent hash sets: concurrent_unordered_set and concurrent_unordered_multiset. C++11 and
// later. Follow the oneTBB specification 1.4 ([containers.concurrent_unordered_set] and
// [containers.concurrent_unordered_multiset]), and have the members of the TBB 2020 classes.
#ifndef CORBEL_CONCURRENT_UNORDERED_SET_HPP
#define CORBEL_CONCURRENT_UNORDERED_SET_HPP

#include <cstddef>
#include <initializer_list>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/equal_to.hpp>
#include <corbel/detail/unordered_base.hpp>
#include <corbel/tbb_allocator.hpp>

namespace corbel {

// A hash table of keys to which many threads add elements, which they look up and over which
// they iterate at the same time, without locks. No element moves when the table grows. Removing
// elements needs exclusive access, as the names of those functions say (unsafe_...).
//
// Hash and KeyEqual meet the requirements of the standard's unordered containers; Allocator, by
// which all memory comes, is rebound. detail/unordered_base.hpp documents the members: which of
// them any thread may call, what stays valid, and what happens when something throws.
//
// If Hash has a type transparent_key_equal, that is used instead of KeyEqual, and find, contains,
// count, equal_range, unsafe_erase and unsafe_extract accept keys of the other types that it and
// Hash accept. So they do if Hash and KeyEqual both have a type is_transparent.
template <typename Key, typename Hash = std::hash<Key>, typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<Key>>
class concurrent_unordered_set
    : public detail::unordered_base<Key, Key, Hash, KeyEqual, Allocator, false> {
  using base = detail::unordered_base<Key, Key, Hash, KeyEqual, Allocator, false>;

 public:
  using typename base::allocator_type;
  using typename base::key_type;
  using typename base::size_type;
  using typename base::value_type;

  // Constructors, and the assignment of a list: see detail/unordered_base.hpp. Those from another
  // container copy or take its elements.
  using base::base;
  concurrent_unordered_set() = default;
  concurrent_unordered_set(const concurrent_unordered_set& other, const allocator_type& allocator)
      : base(other, allocator) {}
  concurrent_unordered_set(concurrent_unordered_set&& other, const allocator_type& allocator)
      : base(std::move(other), allocator) {}
  concurrent_unordered_set& operator=(std::initializer_list<value_type> values) {
    base::operator=(values);
    return *this;
  }
};

// The same, where several elements may have equal keys. Elements with equal keys are neighbours.
template <typename Key, typename Hash = std::hash<Key>, typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<Key>>
class concurrent_unordered_multiset
    : public detail::unordered_base<Key, Key, Hash, KeyEqual, Allocator, true> {
  using base = detail::unordered_base<Key, Key, Hash, KeyEqual, Allocator, true>;

 public:
  using typename base::allocator_type;
  using typename base::key_type;
  using typename base::size_type;
  using typename base::value_type;

  // Constructors, and the assignment of a list: see detail/unordered_base.hpp. Those from another
  // container copy or take its elements.
  using base::base;
  concurrent_unordered_multiset() = default;
  concurrent_unordered_multiset(const concurrent_unordered_multiset& other,
                                const allocator_type& allocator)
      : base(other, allocator) {}
  concurrent_unordered_multiset(concurrent_unordered_multiset&& other,
                                const allocator_type& allocator)
      : base(std::move(other), allocator) {}
  concurrent_unordered_multiset& operator=(std::initializer_list<value_type> values) {
    base::operator=(values);
    return *this;
  }
};

// Exchanges the contents as a.swap(b) does.
template <typename Key, typename Hash, typename KeyEqual, typename Allocator>
void swap(
    concurrent_unordered_set<Key, Hash, KeyEqual, Allocator>& a,
    concurrent_unordered_set<Key, Hash, KeyEqual, Allocator>& b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

template <typename Key, typename Hash, typename KeyEqual, typename Allocator>
void swap(concurrent_unordered_multiset<Key, Hash, KeyEqual, Allocator>& a,
          concurrent_unordered_multiset<Key, Hash, KeyEqual, Allocator>&
              b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

#if defined(__cpp_deduction_guides)
template <typename Iterator, typename Hash = std::hash<detail::iterator_value<Iterator>>,
          typename KeyEqual = std::equal_to<detail::iterator_value<Iterator>>,
          typename Allocator = tbb_allocator<detail::iterator_value<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(Iterator, Iterator, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(),
                         Allocator = Allocator())
    -> concurrent_unordered_set<detail::iterator_value<Iterator>, Hash, KeyEqual, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(Iterator, Iterator, std::size_t, Allocator)
    -> concurrent_unordered_set<detail::iterator_value<Iterator>,
                                std::hash<detail::iterator_value<Iterator>>,
                                std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(Iterator, Iterator, Allocator)
    -> concurrent_unordered_set<detail::iterator_value<Iterator>,
                                std::hash<detail::iterator_value<Iterator>>,
                                std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Iterator, typename Hash, typename Allocator,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> concurrent_unordered_set<detail::iterator_value<Iterator>, Hash,
                                std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Key, typename Hash = std::hash<Key>, typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<Key>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(std::initializer_list<Key>, std::size_t = 0, Hash = Hash(),
                         KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_set<Key, Hash, KeyEqual, Allocator>;
template <typename Key, typename Allocator, typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(std::initializer_list<Key>, std::size_t, Allocator)
    -> concurrent_unordered_set<Key, std::hash<Key>, std::equal_to<Key>, Allocator>;
template <typename Key, typename Allocator, typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(std::initializer_list<Key>, Allocator)
    -> concurrent_unordered_set<Key, std::hash<Key>, std::equal_to<Key>, Allocator>;
template <typename Key, typename Hash, typename Allocator, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_set(std::initializer_list<Key>, std::size_t, Hash, Allocator)
    -> concurrent_unordered_set<Key, Hash, std::equal_to<Key>, Allocator>;

template <typename Iterator, typename Hash = std::hash<detail::iterator_value<Iterator>>,
          typename KeyEqual = std::equal_to<detail::iterator_value<Iterator>>,
          typename Allocator = tbb_allocator<detail::iterator_value<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(Iterator, Iterator, std::size_t = 0, Hash = Hash(),
                              KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_multiset<detail::iterator_value<Iterator>, Hash, KeyEqual, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(Iterator, Iterator, std::size_t, Allocator)
    -> concurrent_unordered_multiset<detail::iterator_value<Iterator>,
                                     std::hash<detail::iterator_value<Iterator>>,
                                     std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(Iterator, Iterator, Allocator)
    -> concurrent_unordered_multiset<detail::iterator_value<Iterator>,
                                     std::hash<detail::iterator_value<Iterator>>,
                                     std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Iterator, typename Hash, typename Allocator,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> concurrent_unordered_multiset<detail::iterator_value<Iterator>, Hash,
                                     std::equal_to<detail::iterator_value<Iterator>>, Allocator>;
template <typename Key, typename Hash = std::hash<Key>, typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<Key>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(std::initializer_list<Key>, std::size_t = 0, Hash = Hash(),
                              KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_multiset<Key, Hash, KeyEqual, Allocator>;
template <typename Key, typename Allocator, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(std::initializer_list<Key>, std::size_t, Allocator)
    -> concurrent_unordered_multiset<Key, std::hash<Key>, std::equal_to<Key>, Allocator>;
template <typename Key, typename Allocator, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(std::initializer_list<Key>, Allocator)
    -> concurrent_unordered_multiset<Key, std::hash<Key>, std::equal_to<Key>, Allocator>;
template <typename Key, typename Hash, typename Allocator, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multiset(std::initializer_list<Key>, std::size_t, Hash, Allocator)
    -> concurrent_unordered_multiset<Key, Hash, std::equal_to<Key>, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_UNORDERED_SET_HPP
