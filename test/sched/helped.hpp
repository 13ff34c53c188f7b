// SPDX-License-Identifier: Apache-2.0
// What the tests of the algorithms share: ways to let other threads come, and objects that are
// counted.
#pragma once

#include <corbel/detail/arena_place.hpp>
#include <corbel/detail/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace test {

// How many threads there are at most; what is expected of stealing is expected of two or more.
inline unsigned width() { return corbel::detail::arena_width(corbel::detail::current_worker()); }
inline bool has_helper() { return width() > 1; }

// Waits until `condition` holds, but not for ever: where the machine has one processor nobody may
// come. Says whether it does.
template <typename Condition>
bool wait_for(const Condition& condition, int milliseconds = 5000) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Long enough for another thread to come.
inline void work_a_little() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

// How many objects there are, and how many there have been. An object destroyed twice, or never,
// is missing here.
struct Balance {
  std::atomic<std::int64_t> alive{0};
  std::atomic<std::int64_t> made{0};
};

// Counted in a Balance.
class Counted {
 public:
  explicit Counted(Balance& balance) : balance_(&balance) { begin(); }
  Counted(const Counted& other) : balance_(other.balance_) { begin(); }
  Counted(Counted&& other) noexcept : balance_(other.balance_) { begin(); }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() {
    // A second destructor call, or one of an object that never was.
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
