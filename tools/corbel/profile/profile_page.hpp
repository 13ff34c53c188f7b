// SPDX-License-Identifier: Apache-2.0
// The page that shows a profile: one HTML file without references to others.
#pragma once

#include <string>

#include "pprof/profile.hpp"

namespace corbel::cli {

// The page of a profile.
std::string profile_page(const Profile& profile, const std::string& title);
// The page of a difference, as side_by_side makes it.
std::string difference_page(const Profile& profile, const std::string& title);

}  // namespace corbel::cli
