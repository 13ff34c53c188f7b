// SPDX-License-Identifier: Apache-2.0
// CORBEL_LEAKS: what is reported of the blocks that the program has not freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/heap_profile.hpp"

namespace corbel::alloc {

inline constexpr std::size_t kMaxLeakPath = 4096;

enum class LeakBlocks : std::uint8_t {
  kNone,
  kSampled,
  kEvery,
};

struct LeakOptions {
  // Which blocks are recorded, to be checked at exit.
  LeakBlocks blocks = LeakBlocks::kNone;
  std::uint64_t every = 0;  // of kSampled, as start_heap_profile() takes it
  // Which places are listed on stderr beside the definite leaks. A file has all.
  bool possible = false;
  bool reachable = false;
  // The file that the report goes to, with %p for the number of the process; empty: stderr.
  char file[kMaxLeakPath] = {};
};

// Reads the text of CORBEL_LEAKS; nullptr is allowed. A wrong value is named on stderr.
void read_leak_options(const char* text, LeakOptions* options);

}  // namespace corbel::alloc
