// SPDX-License-Identifier: Apache-2.0
// Prints the limits that the allocator follows. For each line of input it grows by some MiB, and
// prints the soft and the hard limit in bytes, 0 for none.
#include <cstdio>
#include <cstring>

#include "alloc/allocator.hpp"
#include "alloc/policy/heap_limit.hpp"

int main() {
  using namespace corbel::alloc;
  char line[80];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    // Each in a block of its own, so that every line asks the system for memory.
    constexpr std::size_t kSize = std::size_t{6} << 20;
    for (int i = 0; i < 4; ++i) {
      void* block = allocate(kSize);
      if (block == nullptr) return 1;
      std::memset(block, 1, kSize);
    }
    std::printf("%zu %zu\n", heap_limit.soft(), heap_limit.hard());
    std::fflush(stdout);
  }
  return 0;
}
