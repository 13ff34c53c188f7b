// SPDX-License-Identifier: Apache-2.0
// What a walk does at one instruction of the program, in 32 bits.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "unwind/frame_rules.hpp"

namespace corbel::unwind {

// The few registers that nearly all frames need: the address of the frame (CFA) is the stack or the
// frame pointer plus an offset, and memory at another offset from it has the caller's values.
class Row {
 public:
  enum class Kind : std::uint32_t {
    kNone,          // no row
    kFromStack,     // CFA: the stack pointer plus an offset
    kFromFrame,     // CFA: the frame pointer plus an offset
    kFramePointer,  // no rules: there may be a frame pointer
    kEnd,           // the outermost frame
    kSignal,        // the kernel has saved all registers
    kOther          // rules that need other registers, or offsets that do not fit here
  };
  // What the memory has. Where a call pushes the return address, that is always just below the CFA.
  enum class Saved : std::uint32_t { kNothing, kFramePointer, kFramePointerAndReturn, kReturn };

  Row() = default;
  explicit Row(Kind kind) : bits_(std::uint32_t(kind)) {}
  explicit Row(const FrameRules& rules);

  static Row from_bits(std::uint32_t bits) {
    Row row;
    row.bits_ = bits;
    return row;
  }
  std::uint32_t bits() const { return bits_; }

  Kind kind() const { return Kind(bits_ & 7); }
  Saved saved() const { return Saved(bits_ >> 3 & 3); }
  // The CFA's distance from the stack or frame pointer, and the memory's below the CFA, in bytes.
  std::uintptr_t cfa_offset() const { return std::uintptr_t(bits_ >> 5 & kMaxWords) * kWord; }
  std::uintptr_t saved_below() const { return std::uintptr_t(bits_ >> 18) * kWord; }

 private:
  static constexpr std::uint32_t kWord = sizeof(std::uintptr_t);
  static constexpr std::uint32_t kMaxWords = (1U << 13) - 1;

  std::uint32_t bits_ = 0;
};

}  // namespace corbel::unwind
