// SPDX-License-Identifier: Apache-2.0
// Hot spots as text.
#pragma once

#include <string>

#include "profile/hot_spots.hpp"

namespace corbel::cli {

// The share of memory management in each thread's time, and the `count` spots that cost most, each
// with what to do. `terminal` is where it is printed.
std::string hot_spots_text(const HotSpots& all, std::size_t count, int terminal);

// Why the profile tells little or nothing, in one line; empty when it tells enough.
std::string hot_spots_doubt(const HotSpots& all);

// Says what of the profile is not there with --malloc=system.
std::string system_malloc_note();

}  // namespace corbel::cli
