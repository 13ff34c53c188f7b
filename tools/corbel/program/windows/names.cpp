// SPDX-License-Identifier: Apache-2.0
#include "program/windows/names.hpp"

namespace corbel::cli {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_c_runtime(std::string_view dll) {
  const std::string name = lower(dll);
  if (name == "ucrtbase.dll" || name == "ucrtbased.dll" || name == "msvcrt.dll" ||
      name == "msvcrtd.dll" || name.rfind("api-ms-win-crt-", 0) == 0) {
    return true;
  }
  // msvcr70.dll to msvcr120.dll, and their debug versions.
  return name.rfind("msvcr", 0) == 0 && name.size() > 5 && name[5] >= '0' && name[5] <= '9';
}

std::string runtime_of(std::string_view dll) {
  const std::string name = lower(dll);
  return name.rfind("api-ms-win-crt-", 0) == 0 ? "ucrtbase.dll" : name;
}

}  // namespace corbel::cli
