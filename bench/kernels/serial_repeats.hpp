// SPDX-License-Identifier: Apache-2.0
// The serial program is the base of all speed-ups. It needs only a fraction of a millisecond for
// work that keeps a scheduler busy for a while, so its measurement is repeated for long enough.
#pragma once

#include "harness.hpp"

namespace bench {

inline constexpr double kLeastSerialSeconds = 0.03;

// Calls `measure(result)`, a whole measurement with its checks; the value is the mean.
template <typename Measure>
void repeat_serially(Result& result, const Measure& measure) {
  double seconds = 0, values = 0, repeats = 0;
  while (seconds < kLeastSerialSeconds) {
    result = {};
    measure(result);
    seconds += result.seconds;
    values += result.value;
    ++repeats;
  }
  result.seconds = seconds;
  result.value = values / repeats;
  result.extra["repeats"] = repeats;
}

}  // namespace bench
