// SPDX-License-Identifier: Apache-2.0
// A one-shot event that threads wait for. Not for programs to include.
//
// Setting it (1) publishes what was done before to the thread that finds it set (2). The waiting
// thread continues at once: the flag, and the frame it lies in, may be gone right after (1).
#ifndef CORBEL_DETAIL_FLAG_HPP
#define CORBEL_DETAIL_FLAG_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>

namespace corbel {
namespace detail {

// 0 until it is set.
using flag = std::atomic<std::uint32_t>;

// Sets the flag and wakes the threads that wait for it.
inline void set_flag(thread_data& thread, flag& f) {
  const void* const key = &f;
  trace_end(thread, key);
  f.store(1, std::memory_order_release);  // (1) release: publishes earlier work to (2)
  notify_waiters(thread, key);
}

// Whether the flag at `key` is set; the predicate that wait_until takes.
inline bool is_flag_set(const void* key) {
  // (2) acquire: sees what the thread that set the flag did before (1)
  return static_cast<const flag*>(key)->load(std::memory_order_acquire) != 0;
}

// Runs tasks until it is set.
inline void wait_for_flag(thread_data& thread, const flag& f) {
  wait_until(thread, &f, &is_flag_set);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLAG_HPP
