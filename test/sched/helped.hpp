// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the algorithms: ways to let other threads join in, and counted objects.
#pragma once

#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "system.hpp"

namespace test {

// The number of threads. Tests expect stealing only if there are at least two.
inline unsigned width() { return corbel::detail::arena_width(corbel::detail::current_thread()); }
inline bool has_worker() { return width() > 1; }

// Waits until `condition` holds, but not forever: on a machine with one processor no other thread
// may come. Calls pause() meanwhile. Returns whether it holds.
template <typename Condition, typename Pause = void (*)()>
bool wait_for(
    const Condition& condition, int milliseconds = 5000,
    const Pause& pause = [] { std::this_thread::yield(); }) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause();
  }
  return true;
}

// Takes long enough for another thread to join in.
inline void work_a_little() { pass_time(std::chrono::microseconds(20)); }

// How many objects are alive, and how many have been made. An object that is destroyed twice or
// never shows here.
struct Balance {
  std::atomic<std::int64_t> alive{0};
  std::atomic<std::int64_t> made{0};
};

// An object that is counted in a Balance.
class Counted {
 public:
  explicit Counted(Balance& balance) : balance_(&balance) { begin(); }
  Counted(const Counted& other) : balance_(other.balance_) { begin(); }
  Counted(Counted&& other) noexcept : balance_(other.balance_) { begin(); }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() {
    // A second destruction, or the destruction of an object that was never constructed.
    if (mark_ != kMark) balance_->alive += 1'000'000;
    mark_ = 0;
    --balance_->alive;
  }

 private:
  static constexpr std::uint32_t kMark = 0x5ca1ab1e;
  void begin() {
    ++balance_->alive;
    ++balance_->made;
  }
  Balance* balance_;
  std::uint32_t mark_ = kMark;
};

}  // namespace test
