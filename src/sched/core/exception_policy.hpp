// SPDX-License-Identifier: Apache-2.0
// The value of global_control::terminate_on_exception, for the code that catches exceptions.
#pragma once

#include <atomic>

namespace corbel::sched {

inline constinit std::atomic<bool> terminate_on_exception{false};

inline bool terminates_on_exception() {
  return terminate_on_exception.load(std::memory_order_relaxed);  // relaxed: a flag alone
}

}  // namespace corbel::sched
