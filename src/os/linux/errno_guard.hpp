// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

namespace corbel::os {

// Restores errno at the end of the scope: free must never change it.
class ErrnoGuard {
 public:
  ErrnoGuard() : saved_(errno) {}
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

}  // namespace corbel::os
