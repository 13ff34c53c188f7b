// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): the errno that the program reads. On
// Windows each C runtime has its own, a process may have several, and which of them the caller will
// read is not known.
#pragma once

#include <errno.h>

namespace corbel::os {

// Sets the errno of every runtime that is loaded.
#if defined(_WIN32)
void set_errno(int number);
#else
inline void set_errno(int number) { errno = number; }
#endif

// What it is now, to be put back. On Windows the value of each runtime by itself: they need not be
// the same. A runtime that is loaded in between is left alone.
class SavedErrno {
#if defined(_WIN32)
 public:
  SavedErrno();
  void restore() const;

 private:
  static constexpr unsigned kRuntimes = 2;
  int numbers_[kRuntimes]{};
  bool is_saved_[kRuntimes]{};
#else
 public:
  SavedErrno() : number_(errno) {}
  void restore() const { errno = number_; }

 private:
  int number_;
#endif
};

}  // namespace corbel::os
