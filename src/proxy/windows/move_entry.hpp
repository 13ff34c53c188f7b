// SPDX-License-Identifier: Apache-2.0
// The first instructions of a function of x86-64 that is replaced: a jump takes their place, and a
// copy elsewhere does what they did and goes on after them. To call the copy is to call the
// function as it was. Works on bytes alone, in any system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/memory_access.hpp"

namespace corbel::proxy {

inline constexpr std::size_t kJumpSize = 5;    // E9 and a distance of four bytes
inline constexpr std::size_t kMaxCopied = 64;  // bytes of a copy

struct MovedEntry {
  const char* refusal = nullptr;  // why the entry cannot be moved; nullptr if it was
  std::size_t first = 0;          // bytes of the first instruction
  std::size_t moved = 0;          // bytes of all that were moved: the copy goes on after them
  std::size_t size = 0;           // bytes of the copy
};

// A call among the moved instructions becomes a push and a jump. The processor's shadow stack, if
// it keeps one, would lack that return address, and the return would end the process.
enum class Calls { kMoved, kRefused };

// Copies the instructions of `function` that a jump at its entry would overwrite, so that they do
// the same at the address `to`. `function.after` bytes are the function's and the padding after
// it. Refuses what is not on a list of instructions that were thought about, what does not lead to
// the same place from `to`, and a function that branches back among the overwritten bytes.
MovedEntry move_entry(const arch::CodeView& function, std::uintptr_t to, Calls calls,
                      unsigned char (&copy)[kMaxCopied]);

}  // namespace corbel::proxy
