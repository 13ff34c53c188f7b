// SPDX-License-Identifier: Apache-2.0
// How much memory the process has. See proc(5), statm.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace test {

struct ProcessMemory {
  std::size_t mapped;  // bytes, both
  std::size_t resident;
};

inline ProcessMemory process_memory() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  std::size_t mapped = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%zu %zu", &mapped, &resident) != 2) std::abort();
  std::fclose(file);
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  return {mapped * page, resident * page};
}

}  // namespace test
