// SPDX-License-Identifier: Apache-2.0
// What the deduction guides of the containers with keys need. C++17 and later. Not for programs to
// include.
#ifndef CORBEL_DETAIL_UNORDERED_GUIDES_HPP
#define CORBEL_DETAIL_UNORDERED_GUIDES_HPP

#if defined(__cpp_deduction_guides)
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

template <typename Iterator>
using iterator_value = typename std::iterator_traits<Iterator>::value_type;
// Of an iterator over pairs.
template <typename Iterator>
using iterator_key = std::remove_const_t<typename iterator_value<Iterator>::first_type>;
template <typename Iterator>
using iterator_mapped = typename iterator_value<Iterator>::second_type;
template <typename Iterator>
using iterator_element = std::pair<const iterator_key<Iterator>, iterator_mapped<Iterator>>;

template <typename T, typename = void>
struct is_allocator : std::false_type {};
template <typename T>
struct is_allocator<
    T, std::void_t<typename T::value_type, decltype(std::declval<T&>().allocate(std::size_t{}))>>
    : std::true_type {};

template <typename T, typename = void>
struct is_input_iterator : std::false_type {};
template <typename T>
struct is_input_iterator<T, std::void_t<typename std::iterator_traits<T>::iterator_category>>
    : std::true_type {};

// The arguments that choose between the guides ([unord.req.general]).
template <typename T>
using if_input_iterator = std::enable_if_t<is_input_iterator<T>::value>;
template <typename T>
using if_allocator = std::enable_if_t<is_allocator<T>::value>;
template <typename T>
using if_hash = std::enable_if_t<!is_allocator<T>::value && !std::is_integral<T>::value>;
template <typename T>
using if_comparison = std::enable_if_t<!is_allocator<T>::value>;

}  // namespace detail
}  // namespace corbel
#endif

#endif  // CORBEL_DETAIL_UNORDERED_GUIDES_HPP
