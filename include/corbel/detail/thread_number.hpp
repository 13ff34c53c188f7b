// SPDX-License-Identifier: Apache-2.0
// By which number a thread chooses among the parts of an object. Not for programs to include.
#ifndef CORBEL_DETAIL_THREAD_NUMBER_HPP
#define CORBEL_DETAIL_THREAD_NUMBER_HPP

#include <atomic>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A small number of the calling thread, different for each of the first threads that ask.
inline unsigned thread_number() noexcept {
  static std::atomic<unsigned> last{0};
  static thread_local unsigned mine = 0;
  // relaxed: only a number
  if (CORBEL_UNLIKELY(mine == 0)) mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_THREAD_NUMBER_HPP
