// SPDX-License-Identifier: Apache-2.0
// Hot spots as data for programs, and as one HTML file without references to others.
#pragma once

#include <string>

#include "profile/hot_spots.hpp"

namespace corbel::cli {

std::string hot_spots_page(const HotSpots& all, const std::string& title);

// The same as JSON: times in nanoseconds.
std::string hot_spots_json(const HotSpots& all, const std::string& title);

}  // namespace corbel::cli
