// SPDX-License-Identifier: Apache-2.0
// The value of CORBEL_PROFILE, where it begins with "time".
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/profile_file.hpp"
#include "alloc/profile/profile_setting.hpp"

namespace corbel::alloc {

inline constexpr char kTimeForms[] =
    "time, and after commas what you want of every=1ms (from 100us to 1s), file=NAME, "
    "timer=perf or timer=cpu";

struct TimeSetting {
  enum class Timer { kBest, kPerf, kCpu };

  std::uint64_t every = 1000000;  // nanoseconds
  Timer timer = Timer::kBest;
  char file[ProfileFile::kMaxPath] = "corbel.time.%p.pb.gz";
};

namespace time_setting {

// A whole number with its unit, into nanoseconds.
constexpr bool parse_period(const char* text, std::uint64_t* value) {
  constexpr std::uint64_t kMin = 100000;
  constexpr std::uint64_t kMax = 1000000000;
  std::uint64_t number = 0;
  const char* p = text;
  for (; *p >= '0' && *p <= '9'; ++p) {
    number = number * 10 + std::uint64_t(*p - '0');
    if (number > kMax) return false;
  }
  if (p == text) return false;
  const auto is = [p](const char* unit) {
    const char* const rest = profile_setting::after_prefix(p, unit);
    return rest != nullptr && *rest == '\0';
  };
  const std::uint64_t unit = is("us") ? 1000 : is("ms") ? 1000000 : is("s") ? 1000000000 : 0;
  *value = number * unit;
  return unit != 0 && *value >= kMin && *value <= kMax;
}

}  // namespace time_setting

// False when `text` is not one of kTimeForms.
constexpr bool parse_time_setting(const char* text, TimeSetting* setting) {
  using namespace profile_setting;
  return parse_parts(text, "time", setting->file, [setting](const char* part) {
    if (const char* const every = after_prefix(part, "every=")) {
      return time_setting::parse_period(every, &setting->every);
    }
    const auto is = [part](const char* text) {
      const char* const end = after_prefix(part, text);
      return end != nullptr && *end == '\0';
    };
    if (is("timer=perf")) {
      setting->timer = TimeSetting::Timer::kPerf;
    } else if (is("timer=cpu")) {
      setting->timer = TimeSetting::Timer::kCpu;
    } else {
      return false;
    }
    return true;
  });
}

}  // namespace corbel::alloc
