// SPDX-License-Identifier: Apache-2.0
// The binary logarithm. Not for programs to include.
#ifndef CORBEL_DETAIL_HIGHEST_BIT_HPP
#define CORBEL_DETAIL_HIGHEST_BIT_HPP

#include <cstddef>

namespace corbel {
namespace detail {

// Returns the number of the highest bit of `n` that is set; n is not 0.
inline int highest_bit(std::size_t n) noexcept {
  // The exclusive or subtracts, and compilers make it one instruction with the other.
  return static_cast<int>(sizeof(unsigned long long) * 8 - 1) ^
         __builtin_clzll(static_cast<unsigned long long>(n));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HIGHEST_BIT_HPP
