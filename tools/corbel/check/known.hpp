// SPDX-License-Identifier: Apache-2.0
// A function that a malloc replacement takes over, by the name that the system's loader knows.
#pragma once

#include <string_view>

namespace corbel::cli {

struct Known {
  std::string_view symbol;
  std::string_view name;  // empty: the symbol is its own name
  bool essential;
};

}  // namespace corbel::cli
