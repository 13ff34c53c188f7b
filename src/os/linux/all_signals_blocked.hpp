// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace corbel::os {

// Blocks every signal in the calling thread until the end of the scope; the C library's function
// leaves its own signals out.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    unsigned char all[_NSIG / 8];
    memset(all, 0xff, sizeof all);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, all, before_, sizeof all);
  }
  ~AllSignalsBlocked() {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, before_, nullptr, sizeof before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  unsigned char before_[_NSIG / 8];
};

}  // namespace corbel::os
