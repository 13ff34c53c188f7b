// SPDX-License-Identifier: Apache-2.0
// What the deduction guides of the containers ask of their arguments. Not for programs to include.
#ifndef CORBEL_DETAIL_DEDUCTION_HPP
#define CORBEL_DETAIL_DEDUCTION_HPP

#if defined(__cpp_deduction_guides)
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

// Whether A is an allocator: it has value_type and allocate(n) ([container.reqmts]).
template <typename A, typename = void>
struct is_allocator : std::false_type {};
template <typename A>
struct is_allocator<
    A, std::void_t<typename A::value_type, decltype(std::declval<A&>().allocate(std::size_t(0)))>>
    : std::true_type {};

template <typename A>
using if_allocator = std::enable_if_t<is_allocator<A>::value>;
template <typename F>
using unless_allocator = std::enable_if_t<!is_allocator<F>::value>;
template <typename Iterator>
using if_iterator = typename std::iterator_traits<Iterator>::iterator_category;

// The parts of the elements of a sequence.
template <typename Iterator>
using iterator_value_t = typename std::iterator_traits<Iterator>::value_type;
template <typename Iterator>
using iterator_key_t = std::remove_const_t<typename iterator_value_t<Iterator>::first_type>;
template <typename Iterator>
using iterator_mapped_t = typename iterator_value_t<Iterator>::second_type;
template <typename Iterator>
using iterator_pair_t = std::pair<const iterator_key_t<Iterator>, iterator_mapped_t<Iterator>>;

}  // namespace detail
}  // namespace corbel
#endif

#endif  // CORBEL_DETAIL_DEDUCTION_HPP
