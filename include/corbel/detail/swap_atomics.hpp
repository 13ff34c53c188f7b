// SPDX-License-Identifier: Apache-2.0
// The exchange of two atomic words. Not for programs to include.
#ifndef CORBEL_DETAIL_SWAP_ATOMICS_HPP
#define CORBEL_DETAIL_SWAP_ATOMICS_HPP

#include <atomic>

namespace corbel {
namespace detail {

// Exchanges the values. No other thread uses either word.
template <typename Word>
inline void swap_atomics(Word& a, Word& b) noexcept {
  // relaxed, all: no other thread
  const auto kept = a.load(std::memory_order_relaxed);
  a.store(b.load(std::memory_order_relaxed), std::memory_order_relaxed);
  b.store(kept, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SWAP_ATOMICS_HPP
