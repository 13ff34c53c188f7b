// SPDX-License-Identifier: Apache-2.0
// HTML pages without references to other files: a text with marks, and what takes their places.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace corbel::cli::page {

// `html` with the part `name` in the place of each {{name}}. Parts are not looked through for
// marks.
std::string filled(std::string_view html, const std::map<std::string_view, std::string>& parts);

// A text between tags, or in a quoted attribute.
std::string html_text(std::string_view text);

// JSON inside of a script element, which nothing in it can end.
std::string script_json(const nlohmann::json& value);

}  // namespace corbel::cli::page
