// SPDX-License-Identifier: Apache-2.0
#include "profile_page.hpp"
namespace corbel::cli {
std::string profile_page(const Profile&, const std::string&) { return "todo"; }
std::string difference_page(const Profile&, const std::string&) { return "todo"; }
}  // namespace corbel::cli
