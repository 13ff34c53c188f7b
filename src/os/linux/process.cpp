// SPDX-License-Identifier: Apache-2.0
// Environment, standard error, and the end of the process.
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {

const char* environment(const char* name) { return getenv(name); }

void write_error(const char* text, std::size_t size) {
  ErrnoGuard guard;
  while (size > 0) {
    const ssize_t written = write(STDERR_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= std::size_t(written);
  }
}

void abort() { ::abort(); }

std::size_t peak_resident() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? std::size_t(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace corbel::os
