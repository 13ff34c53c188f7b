// SPDX-License-Identifier: Apache-2.0
// Machine code as tests write it: "48 89 d8".
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace test {

inline std::vector<unsigned char> bytes_of(const std::string& text) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    bytes.push_back(
        static_cast<unsigned char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

}  // namespace test
