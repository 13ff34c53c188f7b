// SPDX-License-Identifier: Apache-2.0
// How to get from a function's frame to its caller's, as the call frame information in .eh_frame
// tells (DWARF 5, 6.4; Linux Standard Base Core Specification 5.0, 10.6).
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "os/os.hpp"

namespace corbel::unwind {

// Where the caller's value of a register is, or how the address of the frame (CFA) is computed.
struct Rule {
  enum class Kind : std::uint8_t {
    kSame,
    kUndefined,
    kAtOffset,      // in memory, at CFA + value
    kOffset,        // CFA + value; of a CFA: the register `number` + value
    kRegister,      // in the register `value`
    kAtExpression,  // in memory, where the expression says
    kExpression     // what the expression says
  };
  Kind kind = Kind::kSame;
  std::uint8_t number = 0;
  // Of an expression: the distance of its length and bytes from FrameRules::base.
  std::int32_t value = 0;
};

struct FrameRules {
  const unsigned char* base;  // the index
  Rule cfa;
  Rule registers[arch::kRegisters];
  bool is_signal_frame;  // the caller was interrupted; it made no call
};

// Finds the rules for the instruction at `address` of the object. False if the object has none that
// this code understands.
bool find_rules(const os::CodeObject& object, std::uintptr_t address, FrameRules* rules);

}  // namespace corbel::unwind
