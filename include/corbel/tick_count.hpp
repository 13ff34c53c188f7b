// SPDX-License-Identifier: Apache-2.0
// Wall-clock time for measurements: the difference of two tick_count::now(), in seconds. C++11 and
// later. Follows the oneTBB specification 1.4 (tick_count).
#ifndef CORBEL_TICK_COUNT_HPP
#define CORBEL_TICK_COUNT_HPP

#include <chrono>
#include <cstring>  // programs written for TBB rely on its header for memset and strlen
#include <ratio>
#include <type_traits>

namespace corbel {

// A time point of a monotonic clock. Time points of different threads can be compared. Any thread
// may call any function. As with an int, the program synchronizes access to an object that several
// threads use.
class tick_count {
 public:
  using clock_type =
      std::conditional<std::chrono::high_resolution_clock::is_steady,
                       std::chrono::high_resolution_clock, std::chrono::steady_clock>::type;

  // A duration, positive or negative. It is also a std::chrono duration.
  class interval_t : public clock_type::duration {
    using Duration = clock_type::duration;

   public:
    // Zero.
    constexpr interval_t() : Duration(Duration::zero()) {}
    // `seconds` seconds, rounded towards zero to the clock's period.
    explicit interval_t(double seconds)
        : Duration(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))) {}

    // Returns the duration in seconds.
    double seconds() const {
      return std::chrono::duration_cast<std::chrono::duration<double>>(length()).count();
    }

    interval_t& operator+=(const interval_t& other) {
      Duration::operator+=(other.length());
      return *this;
    }
    interval_t& operator-=(const interval_t& other) {
      Duration::operator-=(other.length());
      return *this;
    }
    friend interval_t operator+(const interval_t& a, const interval_t& b) {
      return interval_t(a.length() + b.length());
    }
    friend interval_t operator-(const interval_t& a, const interval_t& b) {
      return interval_t(a.length() - b.length());
    }

    // Returns the time from `earlier` to `later`.
    friend interval_t operator-(const tick_count& later, const tick_count& earlier);

   private:
    explicit interval_t(Duration length) : Duration(length) {}
    const Duration& length() const { return *this; }
  };

  // Makes the time point of the clock's epoch.
  tick_count() = default;

  // Returns the current time.
  static tick_count now() { return tick_count(clock_type::now()); }

  // Returns the time from `earlier` to `later`.
  friend interval_t operator-(const tick_count& later, const tick_count& earlier) {
    return interval_t(later.moment_ - earlier.moment_);
  }

  // Returns the clock's period in seconds.
  static double resolution() {
    return static_cast<double>(clock_type::period::num) /
           static_cast<double>(clock_type::period::den);
  }

 private:
  explicit tick_count(clock_type::time_point moment) : moment_(moment) {}

  clock_type::time_point moment_;
};

}  // namespace corbel

#endif  // CORBEL_TICK_COUNT_HPP
