// SPDX-License-Identifier: Apache-2.0
// Wall-clock time for measurements: tick_count::now() twice, and the difference in seconds.
// C++11 upwards.
#ifndef CORBEL_TICK_COUNT_HPP
#define CORBEL_TICK_COUNT_HPP

#include <chrono>
#include <cstring>  // programs written for TBB's header get memset and strlen through it
#include <ratio>
#include <type_traits>

namespace corbel {

// A moment on a clock that never goes backwards. May be used from any thread; moments taken on
// different threads compare truthfully.
class tick_count {
 public:
  using clock_type =
      std::conditional<std::chrono::high_resolution_clock::is_steady,
                       std::chrono::high_resolution_clock, std::chrono::steady_clock>::type;

  // A length of time, positive or negative; a std::chrono duration too.
  class interval_t : public clock_type::duration {
    using Duration = clock_type::duration;

   public:
    // Zero.
    constexpr interval_t() : Duration(Duration::zero()) {}
    // `seconds` seconds, rounded towards zero to the clock's unit.
    explicit interval_t(double seconds)
        : Duration(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))) {}

    // The length in seconds.
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

    // `later - earlier` of two moments.
    friend interval_t operator-(const tick_count& later, const tick_count& earlier);

   private:
    explicit interval_t(Duration length) : Duration(length) {}
    const Duration& length() const { return *this; }
  };

  // The start of the clock.
  tick_count() = default;

  // This moment.
  static tick_count now() { return tick_count(clock_type::now()); }

  // The time from `earlier` to `later`.
  friend interval_t operator-(const tick_count& later, const tick_count& earlier) {
    return interval_t(later.moment_ - earlier.moment_);
  }

  // The clock's unit in seconds.
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
