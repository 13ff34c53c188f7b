// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/trace_buffer.hpp"

namespace corbel::sched::trace {

void TraceBuffer::write(const Event& event) {
  const std::size_t n =
      written.load(std::memory_order_relaxed);  // relaxed: only this thread writes it
  if (n == kMaxEvents) return add(dropped, 1);
  events[n] = event;
  // (1) release: publishes the event to (2) in trace_output.cpp
  written.store(n + 1, std::memory_order_release);
}

void TraceBuffer::reset() {
  static_cast<PathClock&>(*this) = PathClock();
  // relaxed, all: no thread uses it
  for (auto* const sum : {&work, &taken_up, &steals, &dropped}) {
    sum->store(0, std::memory_order_relaxed);
  }
  written.store(0, std::memory_order_relaxed);
}

}  // namespace corbel::sched::trace
