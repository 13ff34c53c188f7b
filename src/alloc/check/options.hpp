// SPDX-License-Identifier: Apache-2.0
// CORBEL_CHECK: what is checked of every block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

struct CheckOptions {
  // The bytes before each block that belong to no block; at least half as many follow it. 0: none,
  // and then nothing finds a write outside of a block. A multiple of 16.
  std::size_t redzone = 16;
  // The bytes of freed blocks that are kept from reuse. kAdaptive: an eighth of the live bytes, but
  // at least kMinQuarantine.
  static constexpr std::size_t kAdaptive = SIZE_MAX;
  static constexpr std::size_t kMinQuarantine = std::size_t(1) << 20;
  std::size_t quarantine = kAdaptive;
  // Whether new and freed blocks are filled with patterns.
  bool fill = true;
  // Whether each block has guard pages; otherwise only large ones have.
  bool guard_all = false;
  // Whether a free of the wrong kind or size ends the program.
  bool judge = true;
  // The frames that are recorded of the stack of each allocation; of each free, half as many.
  unsigned frames = 8;
};

extern CheckOptions check_options;

// For a leak scan, which only needs to know the blocks.
inline constexpr CheckOptions kRecordOnly{
    .redzone = 0, .quarantine = 0, .fill = false, .judge = false, .frames = 32};

inline constexpr std::size_t kMaxRedzone = 4096;

// Reads the text of CORBEL_CHECK. False if calls are not to be watched; a wrong value is named on
// stderr.
bool read_check_options(const char* text, CheckOptions* options);

}  // namespace corbel::alloc
