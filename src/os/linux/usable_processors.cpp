// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use. In a file of its own because the allocator, which does
// not need it, then does not link it.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "os/linux/container.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

unsigned processors_of_mask() {
  unsigned long mask[8192 / (8 * sizeof(long))];
  const long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  if (size <= 0) return 1;
  unsigned count = 0;
  for (std::size_t i = 0; i < std::size_t(size) / sizeof(long); ++i) {
    count += unsigned(__builtin_popcountl(mask[i]));
  }
  return std::max(count, 1U);
}

constinit ContainerReader reader;

}  // namespace

unsigned usable_processors() {
  ErrnoGuard guard;
  const unsigned mask = processors_of_mask();
  const unsigned quota = reader.read_processors();
  return quota == 0 ? mask : std::min(mask, quota);
}

}  // namespace corbel::os
