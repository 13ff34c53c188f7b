// SPDX-License-Identifier: Apache-2.0
// The deduction guides of concurrent_hash_map. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_GUIDES_HPP
#define CORBEL_DETAIL_HASH_MAP_GUIDES_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/hash_map_access.hpp>
#include <corbel/detail/hash_map_traits.hpp>
#include <corbel/tbb_allocator.hpp>
#include <corbel/tbb_hash_compare.hpp>

#if defined(__cpp_deduction_guides)
namespace corbel {
namespace detail {

template <typename T, typename = void>
struct is_allocator : std::false_type {};
template <typename T>
struct is_allocator<
    T, std::void_t<typename T::value_type, decltype(std::declval<T&>().allocate(std::size_t()))>>
    : std::true_type {};

template <typename T>
using if_allocator = std::enable_if_t<is_allocator<T>::value>;
template <typename T>
using if_hash_compare = std::enable_if_t<!is_allocator<T>::value && !std::is_integral_v<T>>;

template <typename Iterator>
using key_at = std::remove_const_t<typename std::iterator_traits<Iterator>::value_type::first_type>;
template <typename Iterator>
using mapped_at = typename std::iterator_traits<Iterator>::value_type::second_type;
template <typename Key, typename T>
using default_map_allocator = tbb_allocator<std::pair<const Key, T>>;

}  // namespace detail

template <typename Iterator, typename HashCompare,
          typename Allocator =
              detail::default_map_allocator<detail::key_at<Iterator>, detail::mapped_at<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_hash_compare<HashCompare>,
          typename = detail::if_allocator<Allocator>>
concurrent_hash_map(Iterator, Iterator, HashCompare, Allocator = Allocator())
    -> concurrent_hash_map<detail::key_at<Iterator>, detail::mapped_at<Iterator>, HashCompare,
                           Allocator>;

template <typename Iterator,
          typename Allocator =
              detail::default_map_allocator<detail::key_at<Iterator>, detail::mapped_at<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_allocator<Allocator>>
concurrent_hash_map(Iterator, Iterator, Allocator = Allocator())
    -> concurrent_hash_map<detail::key_at<Iterator>, detail::mapped_at<Iterator>,
                           tbb_hash_compare<detail::key_at<Iterator>>, Allocator>;

// The elements of a list are pairs of a Key or of a const Key.
template <typename Key, typename T, typename HashCompare,
          typename Allocator = detail::default_map_allocator<Key, T>,
          typename = detail::if_hash_compare<HashCompare>,
          typename = detail::if_allocator<Allocator>>
concurrent_hash_map(std::initializer_list<std::pair<const Key, T>>, HashCompare,
                    Allocator = Allocator()) -> concurrent_hash_map<Key, T, HashCompare, Allocator>;
template <typename Key, typename T, typename HashCompare,
          typename Allocator = detail::default_map_allocator<Key, T>,
          typename = std::enable_if_t<!std::is_const_v<Key>>,
          typename = detail::if_hash_compare<HashCompare>,
          typename = detail::if_allocator<Allocator>>
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
