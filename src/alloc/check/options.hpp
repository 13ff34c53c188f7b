// SPDX-License-Identifier: Apache-2.0
// CORBEL_CHECK: which blocks are checked, and how.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

enum class CheckedBlocks : std::uint8_t {
  kNone,
  kSome,   // sampled guards (src/alloc/guard)
  kEvery,  // full checks
};

struct CheckOptions {
  CheckedBlocks blocks = CheckedBlocks::kNone;

  // ---- of sampled guards ----
  // The mean distance in bytes from one guarded block to the next; 1: every block.
  static constexpr std::size_t kMaxGuardDistance = std::size_t(1) << 40;
  std::size_t guard_every = std::size_t(8) << 20;
  // Whether at most one block is guarded every few milliseconds, whatever the program allocates.
  bool guard_seldom = true;
  // How many blocks are guarded at a time. A process may have 65,530 mappings, and the pool
  // takes up to 16 for each: slots that have been used do not become one mapping again. At the
  // limit, the program can start no thread.
  static constexpr std::size_t kMaxGuardSlots = 2048;
  std::size_t guard_slots = 64;

  // ---- of full checks ----
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

// Reads the text of CORBEL_CHECK. If it is wrong, says so on stderr and leaves the defaults, with
// which nothing is checked.
void read_check_options(const char* text, CheckOptions* options);

}  // namespace corbel::alloc
