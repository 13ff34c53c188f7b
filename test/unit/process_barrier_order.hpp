// SPDX-License-Identifier: Apache-2.0
// A litmus test of the process barrier.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "os/os.hpp"

namespace corbel::os {

// One thread stores x and loads y without a fence; the other stores y, passes the barrier and loads
// x. A store to x that the load misses is followed by a load of y that sees the store.
// Returns whether that holds in many rounds.
inline bool barrier_orders_stores() {
  constexpr unsigned kRounds = 60;
  alignas(64) static std::atomic<std::uint64_t> x{0};
  alignas(64) static std::atomic<unsigned> y{0};
  x = 0;
  y = 0;
  static std::uint64_t first_x[kRounds + 1];  // with the first load that saw this y
  std::thread owner([] {
    unsigned seen = 0;
    for (std::uint64_t n = 1; seen != kRounds; ++n) {
      x.store(n, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      const unsigned now = y.load(std::memory_order_relaxed);
      while (seen < now) first_x[++seen] = n;
    }
  });
  std::uint64_t read_x[kRounds + 1];
  for (unsigned k = 1; k <= kRounds; ++k) {
    y.store(k, std::memory_order_relaxed);
    process_barrier();
    read_x[k] = x.load(std::memory_order_relaxed);
  }
  owner.join();
  for (unsigned k = 1; k <= kRounds; ++k) {
    if (first_x[k] > read_x[k] + 1) return false;
  }
  return true;
}

}  // namespace corbel::os
