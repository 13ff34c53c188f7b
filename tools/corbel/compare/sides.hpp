// SPDX-License-Identifier: Apache-2.0
// The sides of a comparison: how each of them starts the command.
#pragma once

#include <string>
#include <vector>

#include "compare/compare.hpp"

namespace corbel::cli {

struct Sides {
  std::vector<Side> sides;            // the system's malloc is the first
  std::string start;                  // the file that is executed
  std::vector<std::string> warnings;  // what makes the comparison say less
  std::string error;                  // why there can be no comparison
  int error_code = 0;                 // the exit code for that; 0: none
};

inline Sides no_sides(const std::string& error, int code) {
  Sides result;
  result.error = error;
  result.error_code = code;
  return result;
}

Sides prepare_sides(const CompareOptions& options);

}  // namespace corbel::cli
