// SPDX-License-Identifier: Apache-2.0
// Three-way comparison of elements, also where their type only has the operator <, as the
// standard's containers compare ([expos.only.entity], synth-three-way). Empty before C++20. Not for
// programs to include.
#ifndef CORBEL_DETAIL_THREE_WAY_HPP
#define CORBEL_DETAIL_THREE_WAY_HPP

#if defined(__cpp_impl_three_way_comparison) && defined(__cpp_concepts)
#include <version>
#endif

#if defined(__cpp_lib_three_way_comparison) && defined(__cpp_lib_concepts)
#define CORBEL_HAS_THREE_WAY 1
#include <compare>

namespace corbel {
namespace detail {

template <typename T>
constexpr auto compare_three_way(const T& a, const T& b) {
  if constexpr (std::three_way_comparable<T>) {
    return a <=> b;
  } else {
    return a < b   ? std::weak_ordering::less
           : b < a ? std::weak_ordering::greater
                   : std::weak_ordering::equivalent;
  }
}

}  // namespace detail
}  // namespace corbel
#else
#define CORBEL_HAS_THREE_WAY 0
#endif

#endif  // CORBEL_DETAIL_THREE_WAY_HPP
