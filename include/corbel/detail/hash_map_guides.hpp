// SPDX-License-Identifier: Apache-2.0
// The deduction guides of concurrent_hash_map. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_GUIDES_HPP
#define CORBEL_DETAIL_HASH_MAP_GUIDES_HPP

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/hash_map_access.hpp>
#include <corbel/detail/hash_map_traits.hpp>
#include <corbel/tbb_allocator.hpp>
#include <corbel/tbb_hash_compare.hpp>

#if defined(__cpp_deduction_guides)
namespace corbel {
namespace detail {

template <typename Key, typename T>
using default_map_allocator = tbb_allocator<std::pair<const Key, T>>;

}  // namespace detail

template <typename Iterator, typename HashCompare,
          typename Allocator = detail::default_map_allocator<detail::iterator_key<Iterator>,
                                                             detail::iterator_mapped<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash<HashCompare>,
          typename = detail::if_allocator<Allocator>>
concurrent_hash_map(Iterator, Iterator, HashCompare, Allocator = Allocator())
    -> concurrent_hash_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                           HashCompare, Allocator>;

template <typename Iterator,
          typename Allocator = detail::default_map_allocator<detail::iterator_key<Iterator>,
                                                             detail::iterator_mapped<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_allocator<Allocator>>
concurrent_hash_map(Iterator, Iterator, Allocator = Allocator())
    -> concurrent_hash_map<detail::iterator_key<Iterator>, detail::iterator_mapped<Iterator>,
                           tbb_hash_compare<detail::iterator_key<Iterator>>, Allocator>;

// The elements of a list are pairs of a Key or of a const Key.
template <typename Key, typename T, typename HashCompare,
          typename Allocator = detail::default_map_allocator<Key, T>,
          typename = detail::if_hash<HashCompare>, typename = detail::if_allocator<Allocator>>
concurrent_hash_map(std::initializer_list<std::pair<const Key, T>>, HashCompare,
                    Allocator = Allocator()) -> concurrent_hash_map<Key, T, HashCompare, Allocator>;
template <typename Key, typename T, typename HashCompare,
          typename Allocator = detail::default_map_allocator<Key, T>,
          typename = std::enable_if_t<!std::is_const_v<Key>>,
          typename = detail::if_hash<HashCompare>, typename = detail::if_allocator<Allocator>>
concurrent_hash_map(std::initializer_list<std::pair<Key, T>>, HashCompare, Allocator = Allocator())
    -> concurrent_hash_map<Key, T, HashCompare, Allocator>;

template <typename Key, typename T, typename Allocator = detail::default_map_allocator<Key, T>,
          typename = detail::if_allocator<Allocator>>
concurrent_hash_map(std::initializer_list<std::pair<const Key, T>>, Allocator = Allocator())
    -> concurrent_hash_map<Key, T, tbb_hash_compare<Key>, Allocator>;
template <typename Key, typename T, typename Allocator = detail::default_map_allocator<Key, T>,
          typename = std::enable_if_t<!std::is_const_v<Key>>,
          typename = detail::if_allocator<Allocator>>
concurrent_hash_map(std::initializer_list<std::pair<Key, T>>, Allocator = Allocator())
    -> concurrent_hash_map<Key, T, tbb_hash_compare<Key>, Allocator>;

}  // namespace corbel
#endif

#endif  // CORBEL_DETAIL_HASH_MAP_GUIDES_HPP
