// SPDX-License-Identifier: Apache-2.0
// What the constructors and deduction guides of containers ask of their arguments. Not for programs
// to include.
#ifndef CORBEL_DETAIL_DEDUCTION_HPP
#define CORBEL_DETAIL_DEDUCTION_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

// A type if `Iterator` is an iterator; otherwise the substitution fails.
template <typename Iterator>
using if_iterator = typename std::iterator_traits<Iterator>::iterator_category;

// The elements of a sequence, and their parts if they are pairs.
template <typename Iterator>
using iterator_value = typename std::iterator_traits<Iterator>::value_type;
template <typename Iterator>
using iterator_key =
    typename std::remove_const<typename iterator_value<Iterator>::first_type>::type;
template <typename Iterator>
using iterator_mapped = typename iterator_value<Iterator>::second_type;
template <typename Iterator>
using iterator_element = std::pair<const iterator_key<Iterator>, iterator_mapped<Iterator>>;

// Whether the type is an allocator: it has value_type and allocate(n) ([container.reqmts]).
template <typename Type, typename = void>
struct is_allocator : std::false_type {};
template <typename Type>
struct is_allocator<Type,
                    decltype(static_cast<typename Type::value_type*>(nullptr),
                             static_cast<void>(std::declval<Type&>().allocate(std::size_t(1))))>
    : std::true_type {};

template <typename Type>
using if_allocator = typename std::enable_if<is_allocator<Type>::value>::type;
template <typename Type>
using unless_allocator = typename std::enable_if<!is_allocator<Type>::value>::type;
// Neither an allocator nor a number of buckets ([unord.req.general]).
template <typename Type>
using if_hash =
    typename std::enable_if<!is_allocator<Type>::value && !std::is_integral<Type>::value>::type;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_DEDUCTION_HPP
