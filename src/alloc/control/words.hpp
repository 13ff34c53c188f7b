// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corbel::alloc {

// What follows `name` in the line, without the blank; nullptr if the line does not begin with it.
constexpr const char* words_after(const char* name, const char* line) {
  while (*name != '\0' && *name == *line) ++name, ++line;
  if (*name != '\0') return nullptr;
  if (*line == '\0') return line;
  return *line == ' ' ? line + 1 : nullptr;
}

}  // namespace corbel::alloc
