// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace corbel::os {

// Gives the calling thread a table of open files of its own, without any. False where the system
// cannot: before Linux 5.9, which the C library's headers may be older than.
inline bool unshare_files() {
#ifdef SYS_close_range
  constexpr long kCloseRange = SYS_close_range;
#else
  constexpr long kCloseRange = 436;
#endif
  constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE
  return syscall(kCloseRange, 0U, ~0U, kUnshare) == 0;
}

}  // namespace corbel::os
