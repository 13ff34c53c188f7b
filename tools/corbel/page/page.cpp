// SPDX-License-Identifier: Apache-2.0
#include "page/page.hpp"

#include <nlohmann/json.hpp>

namespace corbel::cli::page {

std::string filled(std::string_view html, const std::map<std::string_view, std::string>& parts) {
  std::string result;
  for (;;) {
    const std::size_t begin = html.find("{{"), end = html.find("}}", begin);
    result += html.substr(0, begin);
    if (begin == html.npos || end == html.npos) return result;
    result += parts.at(html.substr(begin + 2, end - begin - 2));
    html.remove_prefix(end + 2);
  }
}

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string script_json(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

}  // namespace corbel::cli::page
