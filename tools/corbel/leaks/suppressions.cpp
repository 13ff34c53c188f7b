// SPDX-License-Identifier: Apache-2.0
#include "leaks/suppressions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace corbel::cli {
namespace {

// Whether `pattern` matches the beginning of `text`, or, with `whole`, all of it.
bool matches_here(std::string_view pattern, std::string_view text, bool whole) {
  // Where to go on if the characters after the last '*' do not match.
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  for (;;) {
    if (p == pattern.size() && (!whole || t == text.size())) return true;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && t < text.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos && resume < text.size()) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
}

bool occurs(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  const bool from_start = !pattern.empty() && pattern.front() == '^';
  if (from_start) pattern.remove_prefix(1);
  const bool to_end = !pattern.empty() && pattern.back() == '$';
  if (to_end) pattern.remove_suffix(1);
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (matches_here(pattern, text.substr(i), to_end)) return true;
    if (from_start) return false;
  }
  return false;
}

}  // namespace

void Suppressions::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read the suppressions in {}", path));
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (line.rfind("leak:", 0) != 0 || line.size() == 5) {
      throw std::runtime_error(
          fmt::format("{}:{}: 'leak:PATTERN' expected, not '{}'", path, number, line));
    }
    patterns_.push_back(line.substr(5));
  }
}

bool Suppressions::match(const LeakPlace& place) const {
  return std::any_of(place.stack.begin(), place.stack.end(), [&](const LeakFrame& frame) {
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
      return occurs(pattern, frame.function) || occurs(pattern, frame.file) ||
             occurs(pattern, frame.module);
    });
  });
}

std::string suppressions_of_lsan(const std::string& options) {
  constexpr std::string_view kName = "suppressions=";
  std::size_t at = 0;
  while (at < options.size()) {
    const std::size_t end = std::min(options.find_first_of(": ,", at), options.size());
    const std::string item = options.substr(at, end - at);
    if (item.rfind(kName, 0) == 0) {
      std::string path = item.substr(kName.size());
      path.erase(
          std::remove_if(path.begin(), path.end(), [](char c) { return c == '\'' || c == '"'; }),
          path.end());
      return path;
    }
    at = end + 1;
  }
  return {};
}

}  // namespace corbel::cli
