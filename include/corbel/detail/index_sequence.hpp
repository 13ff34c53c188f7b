// SPDX-License-Identifier: Apache-2.0
// std::index_sequence, which C++11 lacks. Not for programs to include.
#ifndef CORBEL_DETAIL_INDEX_SEQUENCE_HPP
#define CORBEL_DETAIL_INDEX_SEQUENCE_HPP

#include <cstddef>

namespace corbel {
namespace detail {

template <std::size_t... Is>
struct index_sequence {};

template <std::size_t N, std::size_t... Is>
struct first_indices : first_indices<N - 1, N - 1, Is...> {};
template <std::size_t... Is>
struct first_indices<0, Is...> {
  using type = index_sequence<Is...>;
};

// index_sequence<0, 1, ..., N - 1>.
template <std::size_t N>
using make_index_sequence = typename first_indices<N>::type;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_INDEX_SEQUENCE_HPP
