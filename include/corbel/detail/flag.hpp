// SPDX-License-Identifier: Apache-2.0
// A word that says that something has come to its end, to threads that wait for that. Not for
// programs to include.
//
// Setting it (1) publishes what was done before to who finds it set (2). As soon as it is set who
// waits goes on: the word, and what it lies in, may be gone.
#ifndef CORBEL_DETAIL_FLAG_HPP
#define CORBEL_DETAIL_FLAG_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// 0 until it is set.
using flag = std::atomic<std::uint32_t>;

inline void set_flag(worker& w, flag& f) {
  const void* const key = &f;
  f.store(1, std::memory_order_release);  // (1) release: with (2)
  notify_waiters(w, key);
}

// Whether that at `key` is set; as wait_until asks.
inline bool is_flag_set(const void* key) {
  // (2) acquire: with (1)
  return static_cast<const flag*>(key)->load(std::memory_order_acquire) != 0;
}

// Runs tasks until it is set.
inline void wait_for_flag(worker& w, const flag& f) { wait_until(w, &f, &is_flag_set); }

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLAG_HPP
