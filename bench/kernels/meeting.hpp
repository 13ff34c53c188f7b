// SPDX-License-Identifier: Apache-2.0
// A parallel call whose bodies wait for each other, so that each runs in a different thread. It is
// made once before the timed part, so that the library has started all its threads by then.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "harness.hpp"

namespace bench {

// Each body waits here until the last has arrived or `patience` seconds have passed since the call.
class Meeting {
 public:
  Meeting(unsigned expected, double patience)
      : expected_(expected), give_up_at_(now() + patience) {}

  // Whether all arrived.
  bool come() {
    if (come_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected_) {
      complete_at_.store(now(), std::memory_order_release);
    }
    for (unsigned spins = 1; complete_at_.load(std::memory_order_acquire) == 0; ++spins) {
      if (spins % 1024 != 0) continue;
      if (now() > give_up_at_) return false;
      // Threads that share a core must yield to each other.
      std::this_thread::yield();
    }
    return true;
  }

  double complete_at() const { return complete_at_.load(std::memory_order_acquire); }

 private:
  const unsigned expected_;
  const double give_up_at_;
  std::atomic<unsigned> come_{0};
  std::atomic<double> complete_at_{0};
};

// A width whose threads have all run once. It does not wait for threads that the library never
// starts.
template <typename ColdWidth>
class WarmWidth : public ColdWidth {
 public:
  explicit WarmWidth(unsigned threads) : ColdWidth(threads) {
    Meeting meeting(threads, 0.05);
    this->each(threads, [&](std::size_t) { meeting.come(); });
  }
};

}  // namespace bench
