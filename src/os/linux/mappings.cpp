// SPDX-License-Identifier: Apache-2.0
// /proc/self/maps: "start-end rwxp offset device inode          path".
#include <cstring>

#include "os/linux/errno_guard.hpp"
#include "os/linux/lines.hpp"
#include "os/os.hpp"

namespace corbel::os {

namespace {

// Reads a hexadecimal number and the character after it.
std::uint64_t number_at(const char** text) {
  std::uint64_t value = 0;
  for (;; ++*text) {
    const char c = **text;
    unsigned digit = 0;
    if (c >= '0' && c <= '9')
      digit = unsigned(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = unsigned(c - 'a') + 10;
    else
      break;
    value = value << 4 | digit;
  }
  if (**text != '\0') ++*text;
  return value;
}

const char* after_field(const char* text) {
  while (*text != '\0' && *text != ' ') ++text;
  while (*text == ' ') ++text;
  return text;
}

}  // namespace

bool for_each_mapping(bool (*each)(const Mapping&, void*), void* argument) {
  ErrnoGuard guard;
  constexpr std::size_t kMaxLine = 4200;
  char line[kMaxLine];
  Lines lines("/proc/self/maps");
  bool any = false;
  while (lines.next(line, sizeof line)) {
    any = true;
    const char* at = line;
    Mapping mapping{};
    mapping.start = number_at(&at);
    mapping.end = number_at(&at);
    if (strnlen(at, 4) < 4) continue;
    mapping.is_readable = at[0] == 'r';
    mapping.is_executable = at[2] == 'x';
    at = after_field(at);
    mapping.offset = number_at(&at);
    mapping.path = after_field(after_field(at));
    if (!each(mapping, argument)) break;
  }
  return any;
}

}  // namespace corbel::os
