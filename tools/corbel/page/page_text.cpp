// SPDX-License-Identifier: Apache-2.0
#include "page/page_text.hpp"

#include <algorithm>

namespace corbel::cli {

using nlohmann::json;

std::string escaped(const std::string& text) {
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

std::string script_text(const json& data) {
  std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

std::string fill_page(std::string_view page,
                      const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string result;
  for (std::string_view rest = page; !rest.empty();) {
    const std::size_t at = std::min(rest.find('@'), rest.size());
    result += rest.substr(0, at);
    rest.remove_prefix(at);
    bool found = false;
    for (const auto& [mark, text] : parts) {
      if (rest.substr(0, mark.size()) != mark) continue;
      result += text;
      rest.remove_prefix(mark.size());
      found = true;
      break;
    }
    if (!found && !rest.empty()) {
      result += rest.front();
      rest.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace corbel::cli
