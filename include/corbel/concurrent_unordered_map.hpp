// SPDX-License-Identifier: Apache-2.0
// Concurrent hash maps: concurrent_unordered_map and concurrent_unordered_multimap. C++11 and
// later. Follow the oneTBB specification 1.4 ([containers.concurrent_unordered_map] and
// [containers.concurrent_unordered_multimap]), and have the members of the TBB 2020 classes.
#ifndef CORBEL_CONCURRENT_UNORDERED_MAP_HPP
#define CORBEL_CONCURRENT_UNORDERED_MAP_HPP

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/equal_to.hpp>
#include <corbel/detail/unordered_base.hpp>
#include <corbel/tbb_allocator.hpp>

namespace corbel {

// A hash table from keys to values to which many threads add elements, which they look up and over
// which they iterate at the same time, without locks. No element moves when the table grows.
// Removing elements needs exclusive access, as the names of those functions say (unsafe_...).
//
// Hash and KeyEqual meet the requirements of the standard's unordered containers; Allocator, by
// which all memory comes, is rebound. detail/unordered_base.hpp documents the members: which of
// them any thread may call, what stays valid, and what happens when something throws.
//
// If Hash has a type transparent_key_equal, that is used instead of KeyEqual, and find, contains,
// count, equal_range, unsafe_erase and unsafe_extract accept keys of the other types that it and
// Hash accept. So they do if Hash and KeyEqual both have a type is_transparent.
template <typename Key, typename Mapped, typename Hash = std::hash<Key>,
          typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<std::pair<const Key, Mapped>>>
class concurrent_unordered_map : public detail::unordered_base<Key, std::pair<const Key, Mapped>,
                                                               Hash, KeyEqual, Allocator, false> {
  using base =
      detail::unordered_base<Key, std::pair<const Key, Mapped>, Hash, KeyEqual, Allocator, false>;

 public:
  using mapped_type = Mapped;
  using typename base::allocator_type;
  using typename base::key_type;
  using typename base::size_type;
  using typename base::value_type;

  // Constructors, and the assignment of a list: see detail/unordered_base.hpp. Those from another
  // container copy or take its elements.
  using base::base;
  concurrent_unordered_map() = default;
  concurrent_unordered_map(const concurrent_unordered_map& other, const allocator_type& allocator)
      : base(other, allocator) {}
  concurrent_unordered_map(concurrent_unordered_map&& other, const allocator_type& allocator)
      : base(std::move(other), allocator) {}
  concurrent_unordered_map& operator=(std::initializer_list<value_type> values) {
    base::operator=(values);
    return *this;
  }

  // Return the element with an equal key, which they make as Mapped() if there is none. Throw what
  // insert throws. Any thread may call them; the element itself is not protected.
  Mapped& operator[](const key_type& key) { return mapped_of(key, key); }
  Mapped& operator[](key_type&& key) { return mapped_of(key, std::move(key)); }

  // Return the element with an equal key. Throw std::out_of_range if there is none. Any thread may
  // call them.
  Mapped& at(const key_type& key) { return existing(this->find_node(key)); }
  const Mapped& at(const key_type& key) const { return existing(this->find_node(key)); }

 private:
  template <typename K>
  Mapped& mapped_of(const key_type& key, K&& made_from) {
    auto* const found = this->find_node(key);
    if (found != nullptr) return found->value().second;
    return this
        ->template insert_key<false>(key, std::piecewise_construct,
                                     std::forward_as_tuple(std::forward<K>(made_from)),
                                     std::forward_as_tuple())
        .first->value()
        .second;
  }
  template <typename Node>
  static Mapped& existing(Node* found) {
    if (found == nullptr) detail::raise(std::out_of_range("no element has the key"));
    return found->value().second;
  }
};

// The same, where several elements may have equal keys. Has no operator[] and no at. Elements with
// equal keys are neighbours.
template <typename Key, typename Mapped, typename Hash = std::hash<Key>,
          typename KeyEqual = std::equal_to<Key>,
          typename Allocator = tbb_allocator<std::pair<const Key, Mapped>>>
class concurrent_unordered_multimap
    : public detail::unordered_base<Key, std::pair<const Key, Mapped>, Hash, KeyEqual, Allocator,
                                    true> {
  using base =
      detail::unordered_base<Key, std::pair<const Key, Mapped>, Hash, KeyEqual, Allocator, true>;

 public:
  using mapped_type = Mapped;
  using typename base::allocator_type;
  using typename base::key_type;
  using typename base::size_type;
  using typename base::value_type;

  // Constructors, and the assignment of a list: see detail/unordered_base.hpp. Those from another
  // container copy or take its elements.
  using base::base;
  concurrent_unordered_multimap() = default;
  concurrent_unordered_multimap(const concurrent_unordered_multimap& other,
                                const allocator_type& allocator)
      : base(other, allocator) {}
  concurrent_unordered_multimap(concurrent_unordered_multimap&& other,
                                const allocator_type& allocator)
      : base(std::move(other), allocator) {}
  concurrent_unordered_multimap& operator=(std::initializer_list<value_type> values) {
    base::operator=(values);
    return *this;
  }
};

// Exchanges the contents as a.swap(b) does.
template <typename Key, typename Mapped, typename Hash, typename KeyEqual, typename Allocator>
void swap(concurrent_unordered_map<Key, Mapped, Hash, KeyEqual, Allocator>& a,
          concurrent_unordered_map<Key, Mapped, Hash, KeyEqual, Allocator>&
              b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

template <typename Key, typename Mapped, typename Hash, typename KeyEqual, typename Allocator>
void swap(concurrent_unordered_multimap<Key, Mapped, Hash, KeyEqual, Allocator>& a,
          concurrent_unordered_multimap<Key, Mapped, Hash, KeyEqual, Allocator>&
              b) noexcept(noexcept(a.swap(b))) {
  a.swap(b);
}

#if defined(__cpp_deduction_guides)
template <typename Iterator, typename Hash = std::hash<detail::iterator_key<Iterator>>,
          typename KeyEqual = std::equal_to<detail::iterator_key<Iterator>>,
          typename Allocator = tbb_allocator<detail::iterator_element<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(Iterator, Iterator, std::size_t = 0, Hash = Hash(), KeyEqual = KeyEqual(),
                         Allocator = Allocator())
    -> concurrent_unordered_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                                Hash, KeyEqual, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(Iterator, Iterator, std::size_t, Allocator)
    -> concurrent_unordered_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                                std::hash<detail::iterator_key<Iterator>>,
                                std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(Iterator, Iterator, Allocator)
    -> concurrent_unordered_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                                std::hash<detail::iterator_key<Iterator>>,
                                std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Iterator, typename Hash, typename Allocator,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> concurrent_unordered_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                                Hash, std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Key, typename Mapped, typename Hash = std::hash<std::remove_const_t<Key>>,
          typename KeyEqual = std::equal_to<std::remove_const_t<Key>>,
          typename Allocator = tbb_allocator<std::pair<const Key, Mapped>>,
          typename = detail::if_hash<Hash>, typename = detail::unless_allocator<KeyEqual>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(std::initializer_list<std::pair<Key, Mapped>>, std::size_t = 0,
                         Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_map<std::remove_const_t<Key>, Mapped, Hash, KeyEqual, Allocator>;
template <typename Key, typename Mapped, typename Allocator,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(std::initializer_list<std::pair<Key, Mapped>>, std::size_t, Allocator)
    -> concurrent_unordered_map<std::remove_const_t<Key>, Mapped,
                                std::hash<std::remove_const_t<Key>>,
                                std::equal_to<std::remove_const_t<Key>>, Allocator>;
template <typename Key, typename Mapped, typename Allocator,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> concurrent_unordered_map<std::remove_const_t<Key>, Mapped,
                                std::hash<std::remove_const_t<Key>>,
                                std::equal_to<std::remove_const_t<Key>>, Allocator>;
template <typename Key, typename Mapped, typename Hash, typename Allocator,
          typename = detail::if_hash<Hash>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_map(std::initializer_list<std::pair<Key, Mapped>>, std::size_t, Hash,
                         Allocator)
    -> concurrent_unordered_map<std::remove_const_t<Key>, Mapped, Hash,
                                std::equal_to<std::remove_const_t<Key>>, Allocator>;

template <typename Iterator, typename Hash = std::hash<detail::iterator_key<Iterator>>,
          typename KeyEqual = std::equal_to<detail::iterator_key<Iterator>>,
          typename Allocator = tbb_allocator<detail::iterator_element<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::unless_allocator<KeyEqual>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(Iterator, Iterator, std::size_t = 0, Hash = Hash(),
                              KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_multimap<detail::iterator_key<Iterator>,
                                     detail::iterator_mapped<Iterator>, Hash, KeyEqual, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(Iterator, Iterator, std::size_t, Allocator)
    -> concurrent_unordered_multimap<detail::iterator_key<Iterator>,
                                     detail::iterator_mapped<Iterator>,
                                     std::hash<detail::iterator_key<Iterator>>,
                                     std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(Iterator, Iterator, Allocator)
    -> concurrent_unordered_multimap<detail::iterator_key<Iterator>,
                                     detail::iterator_mapped<Iterator>,
                                     std::hash<detail::iterator_key<Iterator>>,
                                     std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Iterator, typename Hash, typename Allocator,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<Hash>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(Iterator, Iterator, std::size_t, Hash, Allocator)
    -> concurrent_unordered_multimap<detail::iterator_key<Iterator>,
                                     detail::iterator_mapped<Iterator>, Hash,
                                     std::equal_to<detail::iterator_key<Iterator>>, Allocator>;
template <typename Key, typename Mapped, typename Hash = std::hash<std::remove_const_t<Key>>,
          typename KeyEqual = std::equal_to<std::remove_const_t<Key>>,
          typename Allocator = tbb_allocator<std::pair<const Key, Mapped>>,
          typename = detail::if_hash<Hash>, typename = detail::unless_allocator<KeyEqual>,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, std::size_t = 0,
                              Hash = Hash(), KeyEqual = KeyEqual(), Allocator = Allocator())
    -> concurrent_unordered_multimap<std::remove_const_t<Key>, Mapped, Hash, KeyEqual, Allocator>;
template <typename Key, typename Mapped, typename Allocator,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, std::size_t, Allocator)
    -> concurrent_unordered_multimap<std::remove_const_t<Key>, Mapped,
                                     std::hash<std::remove_const_t<Key>>,
                                     std::equal_to<std::remove_const_t<Key>>, Allocator>;
template <typename Key, typename Mapped, typename Allocator,
          typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, Allocator)
    -> concurrent_unordered_multimap<std::remove_const_t<Key>, Mapped,
                                     std::hash<std::remove_const_t<Key>>,
                                     std::equal_to<std::remove_const_t<Key>>, Allocator>;
template <typename Key, typename Mapped, typename Hash, typename Allocator,
          typename = detail::if_hash<Hash>, typename = detail::if_allocator<Allocator>>
concurrent_unordered_multimap(std::initializer_list<std::pair<Key, Mapped>>, std::size_t, Hash,
                              Allocator)
    -> concurrent_unordered_multimap<std::remove_const_t<Key>, Mapped, Hash,
                                     std::equal_to<std::remove_const_t<Key>>, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_UNORDERED_MAP_HPP
