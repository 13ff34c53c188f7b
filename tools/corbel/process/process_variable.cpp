// SPDX-License-Identifier: Apache-2.0
#include "process/process_variable.hpp"

#include <fmt/format.h>

#include <fstream>

namespace corbel::cli {

std::optional<std::string> process_variable(int pid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string text; std::getline(file, text, '\0');) {
    if (text.size() > name.size() && text.rfind(name, 0) == 0 && text[name.size()] == '=') {
      return text.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace corbel::cli
