// SPDX-License-Identifier: Apache-2.0
// Back-off: how a thread waits between two looks at a word that another thread is about to change.
// Not for programs to include.
#ifndef CORBEL_DETAIL_BACKOFF_HPP
#define CORBEL_DETAIL_BACKOFF_HPP

#include <thread>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Pauses twice as long each time, then yields the processor: with more threads than processors the
// thread waited for may not be running, and only then does yielding help.
class backoff {
 public:
  void pause() {
    if (count_ > kMaxPauses) {
      std::this_thread::yield();
      return;
    }
    spin(count_);
    count_ *= 2;
  }

  void reset() { count_ = 1; }

 private:
  // 31 pauses in total take a microsecond or two. That is about the cost of a yield, so spinning at
  // most doubles the cost of waiting for a thread that is not running.
  static constexpr int kMaxPauses = 16;

  static void spin(int pauses) {
    for (int i = 0; i < pauses; ++i) cpu_pause();
  }

  int count_ = 1;
};

// Returns when `condition()` is true.
template <typename Condition>
void spin_until(Condition condition) {
  backoff wait;
  while (!condition()) wait.pause();
}

// The parameter of basic_rw_mutex for a lock that never sleeps.
struct spinning_wait {
  static constexpr int kSpins = 0;
  static constexpr bool kSleeps = false;

  // `round` counts from 0 within each wait.
  static void pause(int round) noexcept {
    if (round > 4) {
      std::this_thread::yield();
      return;
    }
    for (int i = 0; i < 1 << round; ++i) cpu_pause();
  }
  template <typename Word, typename Value>
  static void wait(Word&, Value) noexcept {}
  template <typename Word>
  static void wake_all(Word&) noexcept {}
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_BACKOFF_HPP
