// SPDX-License-Identifier: Apache-2.0
// What to do about a hot spot.
#pragma once

#include <string>

#include "profile/hot_spots.hpp"

namespace corbel::cli {

// One sentence: what was measured at the spot, then what helps.
std::string advice_for(const Spot& spot, const HotSpots& all);

// The whole in one sentence; empty when the profile has no time.
std::string verdict_on(const HotSpots& all);

// "1,234", "12.3 million": an estimate has no more exact digits.
std::string rounded(std::int64_t count);
// "3.21 s", "12.3 ms", "4 µs".
std::string duration_text(std::int64_t nanoseconds);
// "12.3 %".
std::string percent_text(std::int64_t part, std::int64_t whole);

}  // namespace corbel::cli
