// SPDX-License-Identifier: Apache-2.0
// What the constructors and deduction guides of containers ask of their arguments. Not for programs
// to include.
#ifndef CORBEL_DETAIL_ITERATORS_HPP
#define CORBEL_DETAIL_ITERATORS_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

template <typename Iterator>
using iterator_value = typename std::iterator_traits<Iterator>::value_type;

// A type if `Iterator` is an iterator; otherwise the substitution fails.
template <typename Iterator>
using if_iterator = typename std::iterator_traits<Iterator>::iterator_category;

template <typename Type, typename = void>
struct is_allocator : std::false_type {};
template <typename Type>
struct is_allocator<Type,
                    decltype(static_cast<void>(std::declval<Type&>().allocate(std::size_t(1))))>
    : std::true_type {};

// The same for allocators, and for types that are none.
template <typename Type>
using if_allocator = typename std::enable_if<is_allocator<Type>::value>::type;
template <typename Type>
using if_no_allocator = typename std::enable_if<!is_allocator<Type>::value>::type;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ITERATORS_HPP
