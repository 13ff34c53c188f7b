// SPDX-License-Identifier: Apache-2.0
// Suppressions in the format of LeakSanitizer: lines "leak:PATTERN", and comments that begin with
// '#'. A leak is suppressed if the pattern occurs in the name of a function, source file or module
// of its stack. '*' stands for any characters, '^' at the beginning and '$' at the end for those of
// the name.
#pragma once

#include <string>
#include <vector>

#include "leaks/leak_file.hpp"

namespace corbel::cli {

class Suppressions {
 public:
  // Adds those of a file. Throws std::runtime_error with one line.
  void read(const std::string& path);

  bool match(const LeakPlace& place) const;

 private:
  std::vector<std::string> patterns_;
};

// The file that LSAN_OPTIONS names, as programs that are tested with LeakSanitizer set it; empty if
// there is none. `options` is the variable's value.
std::string suppressions_of_lsan(const std::string& options);

}  // namespace corbel::cli
