// SPDX-License-Identifier: Apache-2.0
// A block under test and the pattern that its bytes must hold. The pattern depends on the block's
// address, its size and a number of its own, so two overlapping blocks cannot both hold theirs,
// even at the same address and of the same size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace corbel::stress {

struct Block {
  unsigned char* address = nullptr;
  std::size_t size = 0;       // bytes that hold the pattern
  std::size_t requested = 0;  // bytes asked for
  std::size_t alignment = 0;
  std::size_t usable = 0;
  std::uint64_t number = 0;
};

inline constexpr std::size_t kAllGood = SIZE_MAX;

inline std::uint64_t pattern_key(const Block& block) {
  return mix(std::uint64_t(reinterpret_cast<std::uintptr_t>(block.address)) ^
             mix(block.size + (block.number << 40)));
}

// Writes the pattern to all bytes of the block.
void fill(const Block& block);

// Returns the offset of the first byte among the first `size` that differs from the pattern, or
// kAllGood.
std::size_t check(const Block& block, std::size_t size);

// Like check, for the pattern of block `pattern` in bytes that are now at `address`.
std::size_t check_moved(const Block& pattern, const unsigned char* address, std::size_t size);

// Returns the offset of the first byte that is not zero, or kAllGood.
std::size_t check_zero(const unsigned char* address, std::size_t size);

}  // namespace corbel::stress
