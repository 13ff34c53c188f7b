// SPDX-License-Identifier: Apache-2.0
// How many threads may work at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sched {

// The number of threads that the machine and the container grant this process; read once.
unsigned default_width();

// The number of threads, those of the program included, that may work at a time: default_width() or
// what global_control says. 0 until the library is set up. ThreadPool::set_limit writes it.
inline constinit std::atomic<std::uint32_t> current_thread_limit{0};

inline unsigned thread_limit() {
  // relaxed: the thread pool compares it under its lock, all others take it as a hint
  return current_thread_limit.load(std::memory_order_relaxed);
}

}  // namespace corbel::sched
