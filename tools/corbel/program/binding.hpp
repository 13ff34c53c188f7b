// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace corbel::cli {

// The references to one symbol in a program, by the object that they resolve to.
struct Binding {
  std::string from;
  std::string to;
};

}  // namespace corbel::cli
