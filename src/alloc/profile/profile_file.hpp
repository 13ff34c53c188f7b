// SPDX-License-Identifier: Apache-2.0
// The file that a profile is written to when the process ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

class ProfileFile {
 public:
  static constexpr std::size_t kMaxPath = 4096;

  // `pattern` may have %p for the number of the process. To be called once, before the program has
  // a second thread that could look.
  void choose(const char* pattern);

  // Whether choose() has been called, and by this process.
  bool is_chosen() const { return process_ != 0; }
  bool is_of_this_process() const;

  // Calls `write` with the name of the file. If it returns an error number (errno.h), says on
  // stderr that the profile `what` could not be written. If the pattern does not name the process,
  // a child of a fork adds its number, so that it leaves the file to its parent.
  void write(const char* what, int (*write)(const char* path)) const;

 private:
  std::uint32_t process_ = 0;  // the child of a fork is another one
  // Absolute, if the system told the current folder: a daemon changes it.
  char pattern_[kMaxPath] = {};
};

}  // namespace corbel::alloc
