// SPDX-License-Identifier: Apache-2.0
// A profile as text: the places that hold most memory, one line each.
#pragma once

#include <string>

#include "pprof/profile.hpp"

namespace corbel::cli {

// "12.3 MiB", or "1,234" for a unit other than bytes. With `sign`, "+12.3 MiB".
std::string amount(std::int64_t value, const std::string& unit, bool sign = false);

// The totals and the `count` places with the largest values. `terminal` is where it is printed.
std::string profile_table(const Profile& profile, std::size_t count, int terminal);

// The places that changed most, of a profile as side_by_side makes it.
std::string difference_table(const Profile& profile, std::size_t count, int terminal);

}  // namespace corbel::cli
