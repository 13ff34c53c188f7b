// SPDX-License-Identifier: Apache-2.0
// Makes a page from its parts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corbel::cli {

// `text` as the content of an element.
std::string escaped(const std::string& text);

// JSON that no HTML parser takes for the end of the script that it is in.
std::string script_text(const nlohmann::json& data);

// `page` with its marks, such as "@title@", replaced by the text beside them.
std::string fill_page(std::string_view page,
                      const std::vector<std::pair<std::string_view, std::string>>& parts);

}  // namespace corbel::cli
