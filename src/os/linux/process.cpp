// SPDX-License-Identifier: Apache-2.0
// Environment, standard error, and the end of the process.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {

const char* environment(const char* name) { return secure_getenv(name); }

const void* exit_function() { return reinterpret_cast<const void*>(&::exit); }

void write_error(const char* text, std::size_t size) {
  ErrnoGuard guard;
  int file = STDERR_FILENO;
  while (size > 0) {
    const long written = syscall(SYS_write, file, text, size);
    if (written < 0 && errno == EBADF && file == STDERR_FILENO) {
      // A thread of start_thread() shares no open files with the program; the process may still
      // have standard error open.
      file = int(syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC));
      if (file < 0) return;
      continue;
    }
    if (written <= 0) break;
    text += written;
    size -= std::size_t(written);
  }
  if (file != STDERR_FILENO) syscall(SYS_close, file);
}

void abort() { ::abort(); }

// Only the resident memory: the report has had no more here.
ProcessPeaks read_process_peaks() {
  ProcessPeaks peaks;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) peaks.resident = std::size_t(usage.ru_maxrss) * 1024;
  return peaks;
}

}  // namespace corbel::os
