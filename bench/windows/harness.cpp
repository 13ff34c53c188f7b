// SPDX-License-Identifier: Apache-2.0
// The frame of the lab's kernels (bench/kernels/harness.hpp) on Windows: one run, one line with the
// kernel's figure and checksum and the peaks of the process.
#include "frame.hpp"

#include <windows.h>
// After windows.h.
#include <psapi.h>

#include <cinttypes>
#include <cstdio>
#include <string>

namespace bench {

unsigned usable_cores() {
  DWORD_PTR mine = 0, all = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
  return static_cast<unsigned>(__builtin_popcountll(mine));
}

// Threads stay where the system puts them.
void pin(unsigned, unsigned) {}

}  // namespace bench

int main(int count, char** words) {
  bench::Arguments arguments(count, words);
  bench::Result result;
  bench::kernel.run(arguments, result);
  if (const std::string unknown = arguments.unknown(); !unknown.empty()) {
    bench::usage_error("there is no argument '" + unknown + "'");
  }
  PROCESS_MEMORY_COUNTERS memory{};
  K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
  std::printf("{\"value\": %.9g, \"checksum\": %" PRIu64
              ", \"peak_working_set\": %zu, \"peak_commit\": %zu}\n",
              result.value, result.checksum, std::size_t{memory.PeakWorkingSetSize},
              std::size_t{memory.PeakPagefileUsage});
}
