// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/trace_buffer.hpp"

#include <new>

namespace corbel::sched::trace {

bool PathClock::begin_fork() noexcept {
  if (forks_lost == 0) {
    try {
      forks.emplace_back();
      return true;
    } catch (const std::bad_alloc&) {
      // counted below, like the forks nested in it
    }
  }
  ++forks_lost;
  return false;
}

void TraceBuffer::write(const Event& event) {
  const std::size_t n =
      written.load(std::memory_order_relaxed);  // relaxed: only this thread writes it
  if (n == kMaxEvents) return add(dropped, 1);
  events[n] = event;
  // (1) release: publishes the event to (2) in trace_output.cpp
  written.store(n + 1, std::memory_order_release);
}

}  // namespace corbel::sched::trace
