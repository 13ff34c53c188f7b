// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace corbel::os {

// Reads a file line by line. It makes system calls by number, because the C library's functions are
// cancellation points, which malloc must not be, and a program may replace them by code that calls
// malloc.
class Lines {
 public:
  explicit Lines(const char* path)
      : file_(int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY))) {}
  ~Lines() {
    if (file_ >= 0) syscall(SYS_close, file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // False at the end of the file. A line longer than `capacity` loses its tail.
  bool next(char* line, std::size_t capacity) {
    std::size_t size = 0;
    bool any = false;
    for (int c = get(); c >= 0; c = get()) {
      any = true;
      if (c == '\n') break;
      if (size < capacity - 1) line[size++] = char(c);
    }
    line[size] = '\0';
    return any;
  }

 private:
  int get() {
    if (position_ == size_) {
      const long got = file_ < 0 ? 0 : syscall(SYS_read, file_, buffer_, sizeof buffer_);
      if (got <= 0) return -1;
      size_ = std::size_t(got);
      position_ = 0;
    }
    return static_cast<unsigned char>(buffer_[position_++]);
  }

  int file_;
  std::size_t size_ = 0;
  std::size_t position_ = 0;
  char buffer_[512];
};

}  // namespace corbel::os
