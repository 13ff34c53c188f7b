// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): files that are written.
#pragma once

#include <errno.h>

#include <cstddef>

namespace corbel::os {

// An open file of the program that is written from its beginning to its end. All functions of this
// class and the next are async-signal-safe.
class OutputFile {
 public:
  // The file stays open. On Windows error() is ENOTSUP: the number of a file belongs to a C
  // runtime, and a process may have several.
#if defined(_WIN32)
  explicit OutputFile(int) : error_(ENOTSUP) {}
#else
  explicit OutputFile(int file) : file_(file) {}
#endif
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Returns error() == 0. Does nothing after an error.
  bool write(const void* data, std::size_t size);

  // The number (errno.h) of the first error; 0: none.
  int error() const { return error_; }

 protected:
  OutputFile() = default;

  int file_ = -1;
  int error_ = 0;
};

// A file that gets its name only when it is complete.
class NewFile : public OutputFile {
 public:
  // Creates a file with a name longer than `path`. If there is something else than a file at
  // `path`, as a device or a pipe, writes to that. Check error(). `path` must stay valid.
  explicit NewFile(const char* path);
  // Removes the file if finish() has not returned true.
  ~NewFile();

  // Closes the file and gives it its name, which replaces an older file. Returns error() == 0. Does
  // nothing after an error.
  bool finish();

 private:
  static constexpr std::size_t kMaxPath = 4096;

  const char* path_ = nullptr;  // nullptr: there is nothing to rename
  char unfinished_[kMaxPath];
};

}  // namespace corbel::os
